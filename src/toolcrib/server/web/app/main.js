// The page begins here: what is served is fetched, the address decides what is shown.

import { html, render, useEffect } from "./html.js";
import { Bar, PhoneBar } from "./bar.js";
import { Catalog } from "./catalog.js";
import { Chat } from "./chat.js";
import { loadApp } from "./loading.js";
import { Login } from "./login.js";
import { Offline, Trouble } from "./notices.js";
import { Palette } from "./palette.js";
import { Playground } from "./playground.js";
import { route } from "./route.js";
import { openSession } from "./session.js";
import { state } from "./state.js";
import { useStore } from "./store.js";
import { listenToKeys } from "./keys.js";

const VIEWS = { chat: Chat, playground: Playground, catalog: Catalog };

function Page() {
  const { view, name, query } = useStore(route);
  const trouble = useStore(state, (value) => value.trouble);
  const known = useStore(state, (value) => value.app !== null);
  useEffect(() => {
    if (view === "chat") openSession(name);
  }, [view, name]);
  const View = VIEWS[view] ?? Chat;
  return html`
    <a class="skip" href="#main">Skip to content</a>
    <${Bar} view=${view} />
    <${Offline} />
    <main id="main" tabindex="-1" class="view view-${view}">
      ${trouble?.status === 401 ? html`<${Login} />` : trouble ? html`<${Trouble} ...${trouble} />` : known && html`<${View} name=${name} query=${query} />`}
    </main>
    <${PhoneBar} view=${view} />
    <${Palette} />
  `;
}

const root = document.getElementById("app");
root.replaceChildren();
render(html`<${Page} />`, root);
listenToKeys();
loadApp();
