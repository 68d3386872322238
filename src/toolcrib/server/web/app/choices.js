// Choices that rules offer by number, as buttons. What a language model numbers is prose and stays it.

import { html } from "./html.js";
import { Markdown } from "./markdown_view.js";
import { send } from "./session.js";
import { useStore } from "./store.js";
import { state } from "./state.js";

const LINE = /^(\d)\. +(.+)$/;
const MOST = 4;
const MOST_LETTERS = 110;

/** The choices that the answer of a turn offers, in their order; none where it offers none. */
export function choicesOf(turn) {
  if (turn?.model !== "offline") return [];
  const text = turn.items.findLast((item) => item.kind === "text")?.text ?? "";
  const numbered = text.split("\n").map((line) => LINE.exec(line.trim())).filter(Boolean);
  const inOrder = numbered.every((found, place) => Number(found[1]) === place + 1);
  const asks = /[?？؟]/.test(text);
  return asks && inOrder && numbered.length && numbered.length <= MOST ? numbered.map((found) => found[2].replaceAll("**", "").replaceAll("`", "")) : [];
}

/** What the user said, where it was the number of a choice: the choice itself. */
export const spelledOut = (turn, before) => choicesOf(before)[Number(turn.user) - 1] ?? turn.user;

export function Choices({ turn, text }) {
  const running = useStore(state, (value) => value.running);
  const rest = text.split("\n").filter((line) => !LINE.test(line.trim())).join("\n");
  return html`
    <${Markdown} text=${rest} />
    <ol class="choices" aria-label="Choices">
      ${choicesOf(turn).map((choice, place) => html`<li><button class="suggestion" disabled=${running} onClick=${() => send(String(place + 1))}><span dir="auto">${cut(choice)}</span></button></li>`)}
    </ol>
  `;
}

const cut = (text) => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS).trimEnd()}…` : text);
