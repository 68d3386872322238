// What the tools cost in each mode, as `toolcrib tokens` counts it: all of them, a line each, or found by search.

import { html, useEffect, useState } from "./html.js";
import { getTokens } from "./api.js";
import { count, percent, plural } from "./format.js";
import { Notice, Skeleton } from "./notices.js";

const WIDTH = 100;

export function Costs() {
  const [table, setTable] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    getTokens().then(setTable, setError);
  }, []);
  if (error) return html`<${Notice} message=${error.message} hint=${error.hint} />`;
  const most = Math.max(1, ...(table?.rows ?? []).map((row) => row.tokens));
  return html`
    <section class="costs" aria-label="Costs">
      <h2>What the tools cost</h2>
      <p class="quiet">Tokens that tools add to one request, by mode.</p>
      ${!table && html`<${Skeleton} lines=${5} />`}
      <ul>${(table?.rows ?? []).map((row) => html`<li data-mode=${row.mode}><${Cost} row=${row} most=${most} window=${table.window} /></li>`)}</ul>
      ${table?.searches?.length > 0 && html`<p class="quiet">Searched: ${table.searches.map((one) => `“${one.query}”`).join(", ")}. ${table.exact ? "Exact counts" : "Counts are estimates"} for ${table.model}.</p>`}
    </section>
  `;
}

function Cost({ row, most, window }) {
  return html`
    <p><strong>${row.mode}</strong> <span>${row.step}</span></p>
    <svg viewBox="0 0 ${WIDTH} 10" preserveAspectRatio="none" aria-hidden="true"><rect width=${Math.max(0.6, (row.tokens / most) * WIDTH)} height="10" /></svg>
    <p class="cost-figure"><strong>${count(row.tokens)}</strong> <span>${plural(row.visible, "tool")} seen · ${percent(row.tokens / window)} of the window</span></p>
  `;
}
