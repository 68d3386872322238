// The figure people came for: what a request cost, and what it would cost with every tool in it.

import { html, useState } from "./html.js";
import { count, money, percent, plural } from "./format.js";
import { Panel } from "./panel.js";
import { state } from "./state.js";
import { useStore } from "./store.js";
import { useStart } from "./token_start.js";
import { TokenChart } from "./token_chart.js";
import { PARTS, requestsOf, summed } from "./token_counts.js";

export function TokenPanel() {
  const turns = useStore(state, (value) => value.turns);
  const tools = useStore(state, (value) => value.tools);
  const [pointed, setPointed] = useState(null);
  const sent = requestsOf(turns);
  const start = useStart(sent.length === 0);
  const requests = sent.length || !start ? sent : [start];
  const shown = requests[pointed ?? requests.length - 1] ?? requests.at(-1);
  const whole = sent.length && pointed === null ? summed(turns) : null;
  const figure = whole ?? shown;
  const about = shown && !shown.exact ? "≈ " : "";
  const what = whole ? "this conversation" : sent.length ? `request ${pointed + 1}` : "tools, at the start";
  return html`
    <${Panel} title="Tokens" note=${sent.length ? (whole ? plural(whole.requests, "request") : `request ${pointed + 1} of ${sent.length}`) : ""}>
      <div class="figures">
        <p class="figure"><strong>${figure ? about + count(figure.total) : "–"}</strong><span>${what}</span></p>
        <p class="figure ghost"><strong>${figure ? about + count(figure.loaded) : "–"}</strong><span>all ${tools?.length ? count(tools.length) : ""} tools loaded</span></p>
        <p class="figure saved"><strong>${figure && figure.loaded > 0 ? change(1 - figure.total / figure.loaded) : "–"}</strong><span>${figure && figure.total > figure.loaded ? "more" : "saved"}</span></p>
      </div>
      <${TokenChart} requests=${requests} pointed=${pointed} onPoint=${setPointed} />
      <dl class="legend">
        ${PARTS.map(([name, label]) => html`<div><dt><i class="swatch part-${name}"></i>${label}</dt><dd>${shown && name in shown.parts ? count(shown.parts[name]) : "–"}</dd></div>`)}
        <div><dt><i class="swatch part-loaded"></i>All tools loaded</dt><dd>${shown ? count(shown.loaded) : "–"}</dd></div>
      </dl>
      <${Total} whole=${whole ?? (sent.length ? summed(turns) : null)} />
    <//>
  `;
}

const change = (saved) => `${saved < 0 ? "+" : "−"}${percent(Math.abs(saved))}`;

function Total({ whole }) {
  if (!whole) return html`<p class="conversation-total">Each request of the conversation becomes a column.</p>`;
  return html`
    <p class="conversation-total" title="Requests that only searched are left out of the second number: with all tools loaded they would not be made.">
      The columns are the last requests; the legend is of ${whole.requests === 1 ? "the only" : "the last"} one. ${whole.dollars === null
        ? "What a token costs here is not known, so there is no sum of money."
        : html`In money: <strong class=${whole.dollars > 0 ? "good" : ""}>${money(whole.dollars)} ${whole.dollars < 0 ? "more" : "less"}</strong>, at the list price and with all tools in the prompt cache.`}
    </p>
  `;
}
