// Short replies that an answer offers, as buttons: a click says them.

import { html } from "./html.js";
import { send } from "./session.js";

export function Choices({ choices }) {
  if (!choices?.length) return null;
  return html`
    <ul class="choices" aria-label="Choices">
      ${choices.map((text) => html`<li><button class="chip button-chip" onClick=${() => send(text)}>${text}</button></li>`)}
    </ul>
  `;
}
