// What the session remembers: the things seen last, so that "update it" works, and which tools were used how often.

import { html } from "./html.js";
import { ago, count } from "./format.js";
import { Panel } from "./panel.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

export function Memory() {
  const memory = useStore(state, (value) => value.memory);
  const entities = memory?.entities ?? [];
  const used = memory?.used ?? [];
  return html`
    <${Panel} title="Memory" note=${entities.length ? `${count(entities.length)} seen` : ""}>
      ${!entities.length && !used.length && html`<p class="quiet">Empty. Things that tools return will be remembered here.</p>`}
      ${entities.length > 0 && html`<ul class="entities">${entities.map((one) => html`
        <li key=${`${one.type}/${one.id}`}><span class="chip">${one.type}</span><span class="entity-name" title=${one.id}>${one.name || one.id}</span><time datetime=${one.seen_at}>${ago(one.seen_at)}</time></li>
      `)}</ul>`}
      ${used.length > 0 && html`<p class="label">Used</p><ul class="used">${used.map((use) => html`
        <li key=${use.name}><span class="mono">${use.name}</span><span class="times">${use.count}×</span><span class="outcome" data-outcome=${use.last_outcome}>${use.last_outcome}</span></li>
      `)}</ul>`}
    <//>
  `;
}
