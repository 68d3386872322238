// What `toolcrib check` says: every problem of the catalog at once, each with what to do.

import { html } from "./html.js";
import { plural } from "./format.js";
import { Skeleton } from "./notices.js";
import { address } from "./route.js";

export function Findings({ findings, tools }) {
  if (findings === null) return html`<div class="findings"><h2>Discoverability</h2><p class="quiet">Asking for every tool by its own words…</p><${Skeleton} lines=${5} /></div>`;
  return html`
    <div class="findings">
      <h2>Discoverability</h2>
      <p class="lead">${findings.length === 0
        ? `Every ${tools?.length ? `one of the ${plural(tools.length, "tool")}` : "tool"} is found by its own phrases and by its description in other words.`
        : `${plural(findings.length, "finding")}: what keeps tools from being found, or mixes them up.`}</p>
      <ul>${findings.map((finding, place) => html`<li key=${place}><${Finding} finding=${finding} linked /></li>`)}</ul>
    </div>
  `;
}

export function Finding({ finding, linked = false }) {
  return html`
    <article class="finding">
      <p class="finding-head">${linked && finding.tool && html`<a class="mono" href=${address(["catalog", finding.tool])}>${finding.tool}</a>`}<span class="chip">${finding.rule}</span></p>
      <p>${finding.message}</p>
      ${finding.hint && html`<p class="quiet">${finding.hint}</p>`}
    </article>
  `;
}
