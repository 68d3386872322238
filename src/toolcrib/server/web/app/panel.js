// One part of the inspector, under its name.

import { html } from "./html.js";

export function Panel({ title, note, children }) {
  return html`
    <section class="panel" aria-label=${title}>
      <header><h2>${title}</h2>${note && html`<span class="panel-note">${note}</span>`}</header>
      ${children}
    </section>
  `;
}
