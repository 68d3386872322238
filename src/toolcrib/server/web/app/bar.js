// The bar on top: where you are, what is served, and the switches. On a phone, a second bar at the bottom.

import { html } from "./html.js";
import { Icon } from "./icons.js";
import { ModelPicker } from "./models.js";
import { openPalette } from "./palette.js";
import { panes, showSingle, togglePane } from "./panes.js";
import { address, go } from "./route.js";
import { state } from "./state.js";
import { useStore } from "./store.js";
import { theme, toggleTheme } from "./theme.js";

const VIEWS = [
  ["chat", "Chat", "chat"],
  ["playground", "Playground", "search"],
  ["catalog", "Catalog", "grid"],
];
const COMMAND = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl ";

export function Bar({ view }) {
  const app = useStore(state, (value) => value.app);
  const shown = useStore(panes);
  const dark = useStore(theme, (value) => value.name === "dark");
  const pane = (name, label, icon) => html`
    <button class="icon-button pane-switch" data-pane=${name} aria-pressed=${shown[name]} aria-label=${label} title=${label} onClick=${() => togglePane(name)}>
      <${Icon} name=${icon} />
    </button>
  `;
  return html`
    <header class="bar">
      <a class="brand" href="#/"><img src="/static/favicon.svg" width="22" height="22" alt="" />Toolcrib</a>
      <nav class="tabs" aria-label="Views">
        ${VIEWS.map(([key, label]) => html`<a class="tab" href=${address([key])} aria-current=${view === key ? "page" : null}>${label}</a>`)}
      </nav>
      <span class="served">${app && html`${app.name !== "Toolcrib" && html`<span class="served-name">${app.name}</span>`}<${ModelPicker} own=${app.model} />`}</span>
      ${view === "chat" && app && html`<span class="pane-switches" role="group" aria-label="Panes">
        ${pane("sessions", "Conversations", "list")} ${app?.site && pane("site", "Site", "window")} ${pane("inspector", "Inspector", "pulse")}
      </span>`}
      <button class="palette-button" aria-label="Open the command palette" onClick=${openPalette}><${Icon} name="search" size=${14} /><kbd>${COMMAND}K</kbd></button>
      <button class="icon-button" aria-label=${dark ? "Light theme" : "Dark theme"} title="Theme" onClick=${toggleTheme}>
        <${Icon} name=${dark ? "sun" : "moon"} />
      </button>
    </header>
  `;
}

/** The same places, within a thumb's reach. Site and inspector are places of their own there. */
export function PhoneBar({ view }) {
  const site = useStore(state, (value) => value.app?.site);
  const single = useStore(panes, (value) => value.single);
  const place = (key, label, icon, inChat) => {
    const here = inChat ? view === "chat" && single === key : view === key;
    const visit = () => {
      if (inChat) showSingle(key);
      if (view !== (inChat ? "chat" : key)) go(inChat ? ["chat", ...(state.get().sessionId ? [state.get().sessionId] : [])] : [key]);
    };
    return html`<button class="place" aria-current=${here ? "page" : null} onClick=${visit}><${Icon} name=${icon} size=${18} />${label}</button>`;
  };
  return html`
    <nav class="phone-bar" aria-label="Places">
      ${place("chat", "Chat", "chat", true)} ${site && place("site", "Site", "window", true)} ${place("inspector", "Inspector", "pulse", true)}
      ${place("playground", "Search", "search")} ${place("catalog", "Tools", "grid")}
    </nav>
  `;
}
