// Every tool, shelf by shelf; one of them open beside the list; and what keeps tools from being found.

import { html, useEffect, useState } from "./html.js";
import { getFindings } from "./api.js";
import { count, plural } from "./format.js";
import { Skeleton } from "./notices.js";
import { Costs } from "./costs.js";
import { Findings } from "./findings.js";
import { address } from "./route.js";
import { state } from "./state.js";
import { useStore } from "./store.js";
import { ToolPage } from "./tool_page.js";

const RISKS = ["safe", "moderate", "destructive"];
const MOST_LISTED = 400; // more are found by typing

export function Catalog({ name }) {
  const tools = useStore(state, (value) => value.tools);
  const [words, setWords] = useState("");
  const findings = useFindings();
  const shown = (tools ?? []).filter((tool) => `${tool.name} ${tool.category} ${tool.description}`.toLowerCase().includes(words.toLowerCase().trim()));
  const shelves = Object.entries(Object.groupBy(shown.slice(0, MOST_LISTED), (tool) => tool.category || "other")).sort(([a], [b]) => a.localeCompare(b));
  const troubled = new Set((findings ?? []).map((finding) => finding.tool));
  return html`
    <div class="catalog" data-open=${name ? "tool" : "list"}>
      <aside class="tool-list" aria-label="Tools">
        <header>
          <h1>Catalog</h1>
          <input data-words type="search" aria-label="Filter tools" placeholder=${tools ? `Filter ${plural(tools.length, "tool")}` : "Filter"} value=${words} onInput=${(event) => setWords(event.currentTarget.value)} />
        </header>
        <a class="check-line" href=${address(["catalog"])} aria-current=${name ? null : "page"}>Discoverability<span class="chip">${findings === null ? "…" : findings.length ? count(findings.length) : "fine"}</span></a>
        <p class="risks" aria-label="What the dots mean">${RISKS.map((risk) => html`<span><i class="risk-dot" data-risk=${risk}></i>${risk}</span>`)}</p>
        ${tools === null && html`<${Skeleton} lines=${8} />`}
        ${tools !== null && shown.length === 0 && html`<p class="quiet">${words ? "No tool contains that. The playground searches by meaning." : "This catalog is empty."}</p>`}
        ${shelves.map(([category, held]) => html`
          <section key=${category} aria-label=${category}>
            <h2>${category}<span>${held.length}</span></h2>
            <ul>${held.map((tool) => html`<li key=${tool.name}><a class="mono" href=${address(["catalog", tool.name])} aria-current=${tool.name === name ? "page" : null}>
              <i class="risk-dot" data-risk=${tool.risk} title=${tool.risk}></i>${tool.name}${troubled.has(tool.name) && html`<span class="trouble-dot" title="Has findings"></span>`}</a></li>`)}</ul>
          </section>
        `)}
        ${shown.length > MOST_LISTED && html`<p class="quiet">${count(shown.length - MOST_LISTED)} more; type to narrow them down.</p>`}
      </aside>
      <div class="tool-pane">
        ${name ? html`<${ToolPage} key=${name} name=${name} findings=${(findings ?? []).filter((finding) => finding.tool === name)} />` : html`<div class="overview"><${Findings} findings=${findings} tools=${tools} /><${Costs} /></div>`}
      </div>
    </div>
  `;
}

let asked = null; // the check asks for every tool by its own words: once a visit is enough

function useFindings() {
  const [findings, setFindings] = useState(null);
  useEffect(() => {
    asked ??= getFindings().catch(() => {
      asked = null;
      return [];
    });
    asked.then((found) => setFindings(Array.isArray(found) ? found : (found.findings ?? [])));
  }, []);
  return findings;
}
