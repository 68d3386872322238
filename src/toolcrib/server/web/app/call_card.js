// A call of a tool: closed it says what and how long; open it shows the exact arguments and the result.

import { html } from "./html.js";
import { Undo } from "./changes.js";
import { copyText } from "./clipboard.js";
import { Running } from "./discovery_card.js";
import { duration, inline, pretty } from "./format.js";
import { Icon } from "./icons.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

const MOST_THUMBNAILS = 4;

export function CallCard({ item }) {
  const waits = item.text?.startsWith("requires_confirmation");
  const how = item.running ? "running" : item.failed ? "failed" : waits ? "waits" : "ok";
  return html`
    <details class="card call" data-state=${how}>
      <summary>
        <${Icon} name=${how === "failed" ? "cross" : waits ? "shield" : "tool"} size=${14} />
        <span class="card-line"><span class="mono">${item.name}</span><span class="brief">${brief(item.arguments)}</span></span>
        ${item.running ? html`<${Running} />` : html`<span class="facts">${item.cut ? "stopped" : waits ? "waits for your yes" : `${item.failed ? "failed · " : ""}${duration(item.tookMs)}`}</span>`}
        <${Icon} name="chevron" size=${12} />
      </summary>
      <div class="card-body">
        <p class="label">Arguments</p>
        <${Block} value=${pretty(item.arguments ?? {})} label="arguments" />
        ${item.text !== undefined && html`<p class="label">${item.failed ? "Error" : "Result"}</p><${Block} value=${pretty(item.text)} label="result" />`}
      </div>
    </details>
    ${how === "ok" && html`<${Thumbnails} text=${item.text ?? ""} /><${Undo} callId=${item.id} />`}
  `;
}

/** Text exactly as it came, in a box that scrolls; never read as HTML. */
export function Block({ value, label }) {
  return html`
    <div class="block">
      <pre tabindex="0" aria-label=${label}>${value}</pre>
      <button class="icon-button" aria-label=${`Copy ${label}`} title="Copy" onClick=${(event) => copyText(value, event.currentTarget)}><${Icon} name="copy" size=${14} /></button>
    </div>
  `;
}

// Pictures of the demo site that a result speaks of: an image search without images is hard to believe.
function Thumbnails({ text }) {
  const site = useStore(state, (value) => value.app?.site);
  if (!site) return null;
  const found = [...new Set(text.match(/\/site\/images\/[\w.-]+\.(?:jpe?g|png|webp|gif|svg)/g) ?? [])].slice(0, MOST_THUMBNAILS);
  if (!found.length) return null;
  return html`<div class="thumbnails">${found.map((path) => html`<a href=${path} target="_blank" rel="noopener"><img src=${`${path}?thumbnail`} alt=${path.split("/").at(-1)} loading="lazy" width="96" height="64" /></a>`)}</div>`;
}

function brief(given) {
  const entries = Object.entries(given ?? {});
  return entries.map(([name, value]) => `${name}: ${inline(value)}`).join(", ");
}
