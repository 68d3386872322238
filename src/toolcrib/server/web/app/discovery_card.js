// A search for tools: what was asked, what came down from the wall, how sure, how fast.

import { html } from "./html.js";
import { duration, plural, sure } from "./format.js";
import { Icon } from "./icons.js";
import { address } from "./route.js";
import { toolNamed } from "./state.js";

export function DiscoveryCard({ item }) {
  const fresh = new Set(item.enabled ?? []);
  return html`
    <details class="card discovery" data-state=${item.running ? "running" : item.tools.length ? "found" : "none"}>
      <summary>
        <${Icon} name="search" size=${14} />
        <span class="card-line split">searched <q dir="auto" title=${item.query}>${item.query}</q>${!item.running && !item.cut && html` <span class="arrow" aria-label="found">→</span> <strong>${item.tools.length ? plural(item.tools.length, "tool") : "nothing fits"}</strong>`}</span>
        ${item.running ? html`<${Running} />` : item.cut ? html`<span class="facts">stopped</span>` : html`<span class="facts"><span class="took">${duration(item.tookMs)} · </span>sure ${sure(item.confidence)}</span>`}
        <${Icon} name="chevron" size=${12} />
      </summary>
      <ul class="found">
        ${item.tools.map((name) => html`
          <li>
            <a class="mono" href=${address(["catalog", name])}>${name}</a>
            <span>${toolNamed(name)?.description ?? ""}</span>
            ${fresh.has(name) && html`<span class="chip new">now active</span>`}
          </li>
        `)}
        ${!item.running && !item.tools.length && html`<li class="quiet">No tool was sure enough to be offered. The model is told so, instead of guessing.</li>`}
      </ul>
    </details>
    ${!item.running && item.tools.length > 0 && html`<p class="found-line">${item.tools.map((name) => html`<span class="chip mono ${fresh.has(name) ? "new" : ""}">${name}</span>`)}</p>`}
  `;
}

export function Running() {
  return html`<span class="spinner" role="status"><span class="visually-hidden">running</span></span>`;
}
