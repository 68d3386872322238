// The figure people came for: what a request cost, and what it would cost with every tool in it.

import { html, useState } from "./html.js";
import { count, percent } from "./format.js";
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
  const about = shown && !shown.exact ? "≈ " : "";
  return html`
    <${Panel} title="Tokens" note=${sent.length ? `request ${(pointed ?? sent.length - 1) + 1} of ${sent.length}` : ""}>
      <div class="figures">
        <p class="figure"><strong>${shown ? about + count(shown.total) : "–"}</strong><span>${sent.length ? "this request" : "tools, at the start"}</span></p>
        <p class="figure ghost"><strong>${shown ? about + count(shown.loaded) : "–"}</strong><span>all ${tools?.length ? count(tools.length) : ""} tools loaded</span></p>
        <p class="figure saved"><strong>${shown && shown.loaded > shown.total ? `−${percent(1 - shown.total / shown.loaded)}` : "–"}</strong><span>saved</span></p>
      </div>
      <${TokenChart} requests=${requests} pointed=${pointed} onPoint=${setPointed} />
      <dl class="legend">
        ${PARTS.map(([name, label]) => html`<div><dt><i class="swatch part-${name}"></i>${label}</dt><dd>${shown && name in shown.parts ? count(shown.parts[name]) : "–"}</dd></div>`)}
        <div><dt><i class="swatch part-loaded"></i>All tools loaded</dt><dd>${shown ? count(shown.loaded) : "–"}</dd></div>
      </dl>
      <${Total} turns=${turns} counted=${sent.length > 0} />
    <//>
  `;
}

function Total({ turns, counted }) {
  if (!counted) return html`<p class="conversation-total">Each request of the conversation becomes a column.</p>`;
  const whole = summed(turns);
  return html`
    <p class="conversation-total" title="Requests that only searched are left out of the second number: with all tools loaded they would not be made.">
      Conversation: <strong>${count(whole.total)}</strong> instead of ${count(whole.loaded)}${whole.saved > 0 ? html`, <strong class="good">${percent(whole.saved)} less</strong>` : ""}
    </p>
  `;
}
