// The empty conversation: what this is, in numbers that are true here, and things to try.

import { html } from "./html.js";
import { count } from "./format.js";
import { Icon } from "./icons.js";
import { send } from "./session.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

export function Welcome() {
  const app = useStore(state, (value) => value.app);
  const tools = useStore(state, (value) => value.tools);
  if (!app) return html`<div class="welcome"></div>`;
  const offline = app.model === "offline";
  return html`
    <div class="welcome">
      <h1>Ask for anything${tools?.length ? html`. <span>${count(tools.length)} tools are on the wall; the right ones come down when needed.</span>` : "."}</h1>
      ${app.suggestions?.length > 0 && html`
        <p class="label" id="try">Try</p>
        <ul class="suggestions" aria-labelledby="try">
          ${app.suggestions.map((text) => html`<li><button class="suggestion" onClick=${() => send(text)}><span>${text}</span>${app.remarks?.[text] && html`<small>${app.remarks[text]}</small>`}<${Icon} name="send" size=${14} /></button></li>`)}
        </ul>
      `}
      ${offline && html`<p class="quiet">The offline brain answers: no key, no network, no language model. Choose a local model at the top, or set a key and restart.</p>`}
    </div>
  `;
}
