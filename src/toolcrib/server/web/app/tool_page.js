// One tool: what it is for, how to use it, its parameters as a form, and a form to run it, which asks first where the policy does.

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
import { showOnSite } from "./state.js";

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
      <header><h1 class="mono">${tool.name}</h1><span class="chip">${tool.category}</span><span class="chip risk" data-risk=${tool.risk}>${tool.risk}</span>${tool.confirm && html`<span class="chip">asks first</span>`}${tool.source && html`<span class="chip">from ${tool.source}</span>`}<span class="chip" title="What its definition takes in a request">${plural(tool.tokens, "token")}</span></header>
      <p class="lead">${tool.description}</p>
      ${notes.length > 0 && html`<section aria-label="Protocol"><h2>Protocol</h2><dl class="protocol">${notes.map(([label, text]) => html`<div><dt>${label}</dt><dd>${text}</dd></div>`)}</dl></section>`}
      ${tool.phrases?.length > 0 && html`<section aria-label="Phrases"><h2>Found by</h2><p class="phrases">${tool.phrases.map((phrase) => html`<a class="chip button-chip" href=${address(["playground"], { q: phrase })}>${phrase}</a>`)}</p></section>`}
      ${tool.related?.length > 0 && html`<section aria-label="Related"><h2>Often with</h2><p class="phrases">${tool.related.map((other) => html`<a class="chip button-chip mono" href=${address(["catalog", other])}>${other}</a>`)}</p></section>`}
      ${findings.length > 0 && html`<section aria-label="Findings"><h2>Findings</h2>${findings.map((finding) => html`<${Finding} finding=${finding} />`)}</section>`}
      <${Trial} tool=${tool} />
      <details class="schema"><summary>Schema</summary><${Block} value=${pretty(tool.parameters ?? {})} label="schema" /></details>
    </article>
  `;
}

function Trial({ tool }) {
  const [outcome, setOutcome] = useState(null);
  const [busy, setBusy] = useState(false);
  const attempt = async (args, approved) => {
    setBusy(true);
    try {
      setOutcome({ args, answer: await tryTool(tool.name, args, approved) });
      if (tool.risk !== "safe") showOnSite(null);
    } catch (error) {
      setOutcome({ error });
    }
    setBusy(false);
  };
  const asks = outcome?.answer?.asks;
  return html`
    <section aria-label="Parameters" class="trial">
      <h2>${tool.can_try ? "Run it" : "Parameters"}</h2>
      <${SchemaForm} schema=${tool.parameters ?? {}} disabled=${!tool.can_try || busy || Boolean(asks)} onSubmit=${(args) => attempt(args)} submitLabel=${tool.can_try ? "Call" : null} />
      ${!tool.can_try && html`<p class="quiet">The policy does not allow calls of this tool.</p>`}
      ${asks && html`
        <div class="approval" data-state="open" role="group" aria-label="Allow this call?">
          <p><strong>Allow this call?</strong> ${outcome.answer.reason && `It asks first: ${outcome.answer.reason}.`} It runs outside of any conversation, so there is no Undo.</p>
          <${Block} value=${pretty(outcome.args)} label="arguments" />
          <div class="approval-buttons">
            <button class="button primary" disabled=${busy} onClick=${() => attempt(outcome.args, asks)}><${Icon} name="check" />Allow once</button>
            <button class="button" disabled=${busy} onClick=${() => setOutcome(null)}>Decline</button>
          </div>
        </div>
      `}
      ${outcome?.error && html`<${Notice} message=${outcome.error.message} hint=${outcome.error.hint} />`}
      ${outcome?.answer && !asks && html`<p class="label">${outcome.answer.failed ? "Error" : "Result"} · ${duration(outcome.answer.took_ms)}</p><${Block} value=${pretty(outcome.answer.text)} label="result" />`}
    </section>
  `;
}
