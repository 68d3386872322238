// The wall of the tool crib: every tool a peg, shelf by shelf; those that the model has in hand are lit.

import { html } from "./html.js";
import { count, plural } from "./format.js";
import { Panel } from "./panel.js";
import { go } from "./route.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

const MOST_PEGS = 480; // of a larger catalog only shelves are drawn

export function Pegboard() {
  const tools = useStore(state, (value) => value.tools);
  const active = new Set(useStore(state, (value) => value.active));
  const note = tools ? `${count(active.size)} of ${count(tools.length)} in hand` : "";
  return html`<${Panel} title="Wall" note=${note}>${tools ? html`<${Wall} tools=${tools} active=${active} />` : html`<div class="wall"></div>`}<//>`;
}

function Wall({ tools, active }) {
  const shelves = Object.entries(Object.groupBy(tools, (tool) => tool.category || "other")).sort(([a], [b]) => a.localeCompare(b));
  if (tools.length > MOST_PEGS) {
    return html`<p class="quiet">${plural(tools.length, "tool")} in ${plural(shelves.length, "category").replace("categorys", "categories")}; too many to draw. Those in hand are listed below.</p>`;
  }
  return html`
    <div class="wall">
      ${shelves.map(([name, held]) => html`
        <div class="shelf">
          <span class="shelf-name" title=${name}>${name}</span>
          <span class="pegs">${held.map((tool) => html`<${Peg} key=${tool.name} tool=${tool} lit=${active.has(tool.name)} />`)}</span>
        </div>
      `)}
    </div>
  `;
}

// Not in the order of the Tab key: 45 stops would stand between the chat and the rest. The catalog lists them all.
function Peg({ tool, lit }) {
  return html`<button class="peg" tabindex="-1" data-lit=${lit} data-risk=${tool.risk} title=${tool.name} aria-label=${`${tool.name}${lit ? ", in hand" : ""}`} onClick=${() => go(["catalog", tool.name])}></button>`;
}
