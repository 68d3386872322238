// One column a request: what was sent, by part, in front of a hatched ghost as tall as the same request with all tools.

import { html } from "./html.js";
import { count } from "./format.js";
import { PARTS } from "./token_counts.js";

const WIDTH = 340;
const HEIGHT = 132;
const FLOOR = HEIGHT - 16; // below it stand the numbers of the requests
const MOST_COLUMNS = 24; // the newest ones
const WIDEST = 34;
const AXIS = 34; // on the right, for the numbers

export function TokenChart({ requests, pointed, onPoint }) {
  const first = Math.max(0, requests.length - MOST_COLUMNS);
  const shown = requests.slice(first);
  const top = niceTop(Math.max(1, ...shown.map((one) => Math.max(one.loaded, one.total))));
  const slot = (WIDTH - AXIS) / Math.max(shown.length, 6);
  const wide = Math.min(WIDEST, slot * 0.68);
  const height = (tokens) => (tokens / top) * (FLOOR - 8);
  const said = shown.length
    ? `Tokens of ${requests.length} requests. The last one: ${count(shown.at(-1).total)}, with all tools loaded ${count(shown.at(-1).loaded)}.`
    : "Tokens of each request; none so far.";
  return html`
    <svg class="token-chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${said} onMouseLeave=${() => onPoint(null)}>
      <defs>
        <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <line x1="0" y1="0" x2="0" y2="6" class="hatch-line" />
        </pattern>
      </defs>
      ${[0.5, 1].map((share) => html`
        <line class="grid" x1="0" x2=${WIDTH - AXIS + 6} y1=${FLOOR - height(top * share)} y2=${FLOOR - height(top * share)} />
        ${shown.length > 0 && html`<text class="tick" x=${WIDTH} y=${FLOOR - height(top * share) + 3} text-anchor="end">${count(top * share)}</text>`}
      `)}
      ${shown.map((one, place) => html`<${Column} key=${first + place} one=${one} x=${place * slot + (slot - wide) / 2} wide=${wide} height=${height}
        number=${first + place + 1} pointed=${pointed === first + place} onPoint=${() => onPoint(first + place)} />`)}
      <line class="floor" x1="0" x2=${WIDTH - AXIS + 6} y1=${FLOOR} y2=${FLOOR} />
    </svg>
  `;
}

function Column({ one, x, wide, height, number, pointed, onPoint }) {
  let y = FLOOR;
  return html`
    <g class="column" data-pointed=${pointed} onMouseEnter=${onPoint}>
      <rect class="catch" x=${x - 3} y="0" width=${wide + 6} height=${FLOOR} />
      <rect class="ghost" x=${x} y=${FLOOR - height(one.loaded)} width=${wide} height=${height(one.loaded)} rx="3" fill="url(#hatch)" />
      ${PARTS.map(([name]) => {
        const tall = height(one.parts[name] ?? 0);
        y -= tall;
        return html`<rect class="part-${name}" x=${x} y=${y} width=${wide} height=${tall} />`;
      })}
      <text class="tick" x=${x + wide / 2} y=${HEIGHT - 3} text-anchor="middle">${one.label ?? number}</text>
    </g>
  `;
}

// Round numbers on the axis, and an axis that does not jump with every request.
function niceTop(most) {
  const step = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((times) => times * step).find((top) => top >= most);
}
