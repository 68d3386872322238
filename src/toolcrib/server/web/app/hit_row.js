// One hit: its score, where each arm of the search put it, and the words that matched.

import { html } from "./html.js";
import { sure } from "./format.js";
import { address } from "./route.js";

const WIDTH = 100;
const ALONG = 0.01; // below, it was not found itself: it comes along with one that was

export function HitRow({ hit, place, description, best }) {
  const share = best ? hit.score / best : 0;
  return html`
    <li class="hit" data-along=${hit.score < ALONG}>
      <span class="hit-place">${place}</span>
      <div class="hit-main">
        <p><a class="mono" href=${address(["catalog", hit.name])}>${hit.name}</a></p>
        <p class="hit-description">${description}</p>
        <p class="hit-why">
          <${Arm} label="words" rank=${hit.lexical_rank} /><${Arm} label="meaning" rank=${hit.dense_rank} />
          ${(hit.matched ?? []).map((word) => html`<mark dir="auto">${word}</mark>`)}
          ${hit.why && !hit.matched?.length && html`<span class="quiet">${hit.why}</span>`}
        </p>
      </div>
      <div class="hit-score" title="Score">
        <svg viewBox="0 0 ${WIDTH} 6" preserveAspectRatio="none" aria-hidden="true"><rect class="ground" width=${WIDTH} height="6" rx="3" /><rect class="value" width=${Math.max(2, share * WIDTH)} height="6" rx="3" /></svg>
        <span>${sure(hit.score)}</span>
      </div>
    </li>
  `;
}

function Arm({ label, rank }) {
  return html`<span class="arm" data-rank=${rank === 1 ? "first" : rank ? "some" : "none"}>${label} <strong>${rank ? `#${rank}` : "–"}</strong></span>`;
}
