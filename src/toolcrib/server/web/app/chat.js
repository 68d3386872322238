// The chat, and what makes it worth seeing beside it: the site that changes, and the inspector.

import { html } from "./html.js";
import { Composer } from "./composer.js";
import { Inspector } from "./inspector.js";
import { closeDrawer, panes } from "./panes.js";
import { SessionList } from "./session_list.js";
import { Site } from "./site.js";
import { state } from "./state.js";
import { useStore } from "./store.js";
import { Transcript } from "./transcript.js";

export function Chat() {
  const site = useStore(state, (value) => value.app?.site);
  const shown = useStore(panes);
  const open = { sessions: shown.sessions, site: Boolean(site) && shown.site, inspector: shown.inspector };
  const classes = Object.entries(open).filter(([, is]) => is).map(([name]) => `with-${name}`);
  return html`
    <div class="chat ${classes.join(" ")}" data-single=${shown.single} data-drawer=${shown.drawer}>
      ${(open.sessions || shown.drawer) && html`<${SessionList} />`}
      ${shown.drawer && html`<div class="drawer-back" onClick=${closeDrawer}></div>`}
      <section class="talk" aria-label="Conversation">
        <${Transcript} />
        <${Composer} />
      </section>
      ${site && html`<${Site} address=${site} hidden=${!open.site} />`}
      <${Inspector} hidden=${!open.inspector} />
    </div>
  `;
}
