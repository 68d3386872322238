// One tool: what it is for, how to use it, its parameters as a form, and a try where that is safe.

import { html, useEffect, useState } from "./html.js";
import { getTool, tryTool } from "./api.js";
import { protocolNotes } from "./active_tools.js";
import { Block } from "./call_card.js";
import { Finding } from "./findings.js";
import { duration, plural, pretty } from "./format.js";
import { Icon } from "./icons.js";
import { Notice, Skeleton } from "./notices.js";
import { address } from "./route.js";
import { SchemaForm } from "./schema_form.js";

export function ToolPage({ name, findings }) {
  const [tool, setTool] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    getTool(name).then(setTool, setError);
  }, [name]);
  if (error) return html`<${Notice} message=${error.message} hint=${error.hint} />`;
  if (!tool) return html`<${Skeleton} lines=${7} />`;
  const notes = protocolNotes(tool.protocol);
  return html`
    <article class="tool-page">
      <a class="back" href="#/catalog"><${Icon} name="chevron" size=${12} />All tools</a>
      <header><h2 class="mono">${tool.name}</h2><span class="chip">${tool.category}</span><span class="chip risk" data-risk=${tool.risk}>${tool.risk}</span>${tool.confirm && html`<span class="chip">asks first</span>`}${tool.source && html`<span class="chip">from ${tool.source}</span>`}<span class="chip" title="What its definition takes in a request">${plural(tool.tokens, "token")}</span></header>
      <p class="lead">${tool.description}</p>
      ${notes.length > 0 && html`<section aria-label="Protocol"><h3>Protocol</h3><dl class="protocol">${notes.map(([label, text]) => html`<div><dt>${label}</dt><dd>${text}</dd></div>`)}</dl></section>`}
      ${tool.phrases?.length > 0 && html`<section aria-label="Phrases"><h3>Found by</h3><p class="phrases">${tool.phrases.map((phrase) => html`<a class="chip button-chip" href=${address(["playground"], { q: phrase })}>${phrase}</a>`)}</p></section>`}
      ${tool.related?.length > 0 && html`<section aria-label="Related"><h3>Often with</h3><p class="phrases">${tool.related.map((other) => html`<a class="chip button-chip mono" href=${address(["catalog", other])}>${other}</a>`)}</p></section>`}
      ${findings.length > 0 && html`<section aria-label="Findings"><h3>Findings</h3>${findings.map((finding) => html`<${Finding} finding=${finding} />`)}</section>`}
      <${Trial} tool=${tool} />
      <details class="schema"><summary>Schema</summary><${Block} value=${pretty(tool.parameters ?? {})} label="schema" /></details>
    </article>
  `;
}

function Trial({ tool }) {
  const [outcome, setOutcome] = useState(null);
  const [busy, setBusy] = useState(false);
  const safe = tool.can_try;
  const attempt = async (args) => {
    setBusy(true);
    try {
      setOutcome({ answer: await tryTool(tool.name, args) });
    } catch (error) {
      setOutcome({ error });
    }
    setBusy(false);
  };
  return html`
    <section aria-label="Parameters" class="trial">
      <h3>${safe ? "Try it" : "Parameters"}</h3>
      <${SchemaForm} schema=${tool.parameters ?? {}} disabled=${!safe || busy} onSubmit=${attempt} submitLabel=${safe ? "Call" : null} />
      ${!safe && html`<p class="quiet">It changes things, so it can only be called in a conversation, where you are asked first if it is risky.</p>`}
      ${outcome?.error && html`<${Notice} message=${outcome.error.message} hint=${outcome.error.hint} />`}
      ${outcome?.answer && html`<p class="label">${outcome.answer.failed ? "Error" : "Result"} · ${duration(outcome.answer.took_ms)}</p><${Block} value=${pretty(outcome.answer.text)} label="result" />`}
    </section>
  `;
}
