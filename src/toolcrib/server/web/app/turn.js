// One turn: what the user said, and what happened then.

import { html } from "./html.js";
import { Approval } from "./approval.js";
import { CallCard } from "./call_card.js";
import { Choices } from "./choices.js";
import { copyText } from "./clipboard.js";
import { DiscoveryCard } from "./discovery_card.js";
import { count, duration } from "./format.js";
import { Icon } from "./icons.js";
import { Markdown } from "./markdown_view.js";
import { Notice } from "./notices.js";
import { exportConversation } from "./export.js";
import { Rating } from "./rating.js";
import { send } from "./session.js";
import { toolNamed } from "./state.js";

export function Turn({ turn, isLast }) {
  const answer = turn.items.filter((item) => item.kind === "text").map((item) => item.text).join("\n\n");
  const waiting = turn.running && !turn.items.some((item) => item.running) && turn.items.at(-1)?.kind !== "text";
  return html`
    <article class="turn" aria-busy=${turn.running}>
      ${turn.confirmation ? html`<p class="said-by-button">${turn.user}</p>` : html`<div class="user" dir="auto">${turn.user}</div>`}
      ${told(turn).map((item, place) => html`<${Item} key=${place} item=${item} streaming=${turn.running && item === turn.items.at(-1)} goOn=${isLast && !turn.running && (() => send(wordsToGoOn(turn)))} />`)}
      ${waiting && html`<p class="thinking" role="status"><span></span><span></span><span></span><span class="visually-hidden">Working</span></p>`}
      ${isLast && !turn.running && html`<${Choices} choices=${turn.choices} />`}
      ${!turn.running && html`
        <footer class="turn-foot">
          <button class="foot-button" onClick=${(event) => copyText(answer, event.currentTarget)} disabled=${!answer}><${Icon} name="copy" size=${14} />Copy</button>
          ${isLast && !turn.confirmation && html`<button class="foot-button" onClick=${() => send(turn.user)}><${Icon} name="retry" size=${14} />Retry</button>`}
          ${isLast && html`<button class="foot-button" onClick=${exportConversation}><${Icon} name="download" size=${14} />Export</button>`}
          ${turn.usage && !turn.confirmation && html`<${Rating} turn=${turn} />`}
          ${turn.usage && html`<${Took} usage=${turn.usage} />`}
        </footer>
      `}
    </article>
  `;
}

/** What is worth showing: a call that waits is the question itself, which rules alone would only say once more. */
function told(turn) {
  const asked = new Set(turn.items.filter((item) => item.kind === "approval").map((item) => item.tool));
  if (!asked.size) return turn.items;
  const waits = (item) => item.kind === "call" && item.text?.startsWith("requires_confirmation");
  const did = turn.items.some((item) => item.kind === "call" && !waits(item) && toolNamed(item.name)?.risk !== "safe");
  const repeats = (item) => item.kind === "text" && turn.model === "offline" && !did && asked.size === 1;
  return turn.items.filter((item) => !waits(item) && !repeats(item));
}

// A model reads what was said before. Rules do not: the request is made again.
const wordsToGoOn = (turn) => (turn.model === "offline" ? turn.user : "Go on");

function Took({ usage }) {
  const total = usage.report?.tokens?.total;
  return html`<span class="took">${duration(usage.seconds * 1000)}${total ? ` · ${count(total)} tokens in ${usage.requests} ${usage.requests === 1 ? "request" : "requests"}` : ""}</span>`;
}

function Item({ item, streaming, goOn }) {
  switch (item.kind) {
    case "text":
      return html`<${Markdown} text=${item.text} streaming=${streaming} />`;
    case "discovery":
      return html`<${DiscoveryCard} item=${item} />`;
    case "call":
      return html`<${CallCard} item=${item} />`;
    case "approval":
      return html`<${Approval} item=${item} />`;
    case "enabled":
      return html`<p class="aside">Ready from the start: ${item.names.map((name) => html`<code>${name}</code> `)}</p>`;
    case "warning":
      return html`<p class="aside warn"><${Icon} name="warning" size=${14} />${item.text}</p>`;
    case "failed":
      return html`<${Notice} message=${item.message} hint=${item.hint} />`;
    case "stopped":
      return html`<p class="aside"><${Icon} name="stop" size=${14} />Stopped. What was done so far stays done. ${goOn && html`<button class="foot-button" onClick=${goOn}><${Icon} name="retry" size=${14} />Go on</button>`}</p>`;
    default:
      return null;
  }
}
