// Where the time of the last turn went: model, searches, tools, on one axis.

import { html } from "./html.js";
import { duration } from "./format.js";
import { Panel } from "./panel.js";
import { state } from "./state.js";
import { drawable } from "./steps.js";
import { useStore } from "./store.js";

const WIDTH = 120;
const ROW = 8;

export function Timeline() {
  const turn = useStore(state, (value) => value.turns.at(-1));
  const steps = drawable(turn?.steps ?? []);
  const total = Math.max(0, ...steps.map((step) => step.end));
  return html`
    <${Panel} title="Trace" note=${steps.length ? duration(turn.usage ? turn.usage.seconds * 1000 : total) : ""}>
      ${steps.length === 0
        ? html`<p class="quiet">Each step of a turn, with how long it took.</p>`
        : html`<ol class="trace">${steps.map((step, place) => html`<${Step} key=${place} step=${step} total=${total} />`)}</ol>`}
    <//>
  `;
}

function Step({ step, total }) {
  const took = step.end - step.start;
  const x = total ? (step.start / total) * WIDTH : 0;
  const wide = total ? Math.max(1.5, (took / total) * WIDTH) : 0;
  return html`
    <li data-kind=${step.kind} data-failed=${Boolean(step.failed)}>
      <span class="trace-label ${step.kind === "tool" ? "mono" : ""}" title=${step.label}>${step.kind === "search" ? html`<q dir="auto">${step.label}</q>` : step.label}</span>
      <svg viewBox="0 0 ${WIDTH} ${ROW}" preserveAspectRatio="none" aria-hidden="true"><rect x=${Math.min(x, WIDTH - 1.5)} y="0" width=${wide} height=${ROW} rx="1.5" /></svg>
      <span class="trace-took">${duration(took)}</span>
    </li>
  `;
}
