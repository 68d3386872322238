// Thumbs for a turn, with a note and, after a no, the tool that would have been right: the search learns from both.

import { html, useState } from "./html.js";
import { sendFeedback } from "./api.js";
import { plural } from "./format.js";
import { Icon } from "./icons.js";
import { Notice } from "./notices.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

export function Rating({ turn }) {
  const [good, setGood] = useState(null); // what is being said, until it is sent
  const given = turn.rating?.good ?? null;
  const thumb = (value, name, label) => html`
    <button class="foot-button" aria-label=${label} title=${label} aria-pressed=${(good ?? given) === value} onClick=${() => setGood(good === value ? null : value)}><${Icon} name=${name} size=${14} /></button>
  `;
  return html`
    ${thumb(true, "up", "Good answer")}${thumb(false, "down", "Bad answer")}
    ${good !== null && html`<${Form} key=${String(good)} turn=${turn} good=${good} onEnd=${() => setGood(null)} />`}
  `;
}

function Form({ turn, good, onEnd }) {
  const tools = useStore(state, (value) => value.tools) ?? [];
  const [note, setNote] = useState("");
  const [tool, setTool] = useState("");
  const [outcome, setOutcome] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    const feedback = { run: turn.number, good, note: note.trim(), tool: tool || null };
    try {
      const { learned } = await sendFeedback(state.get().sessionId, feedback);
      setOutcome({ learned });
      state.set((now) => ({ turns: now.turns.map((one) => (one.number === turn.number ? { ...one, rating: feedback } : one)) }));
    } catch (error) {
      setOutcome({ error });
    }
  };
  if (outcome?.learned) return html`<p class="rating-done" role="status">Thank you. ${outcome.learned.length ? `The search has learned: these words lead to ${outcome.learned.join(", ")}.` : "It is kept with the conversation."} <button class="foot-button" onClick=${onEnd}>Close</button></p>`;
  return html`
    <form class="rating" aria-label=${good ? "What was good" : "What was wrong"} onSubmit=${submit}>
      <input type="text" dir="auto" maxlength="1000" aria-label="Note" placeholder=${good ? "What was good? (optional)" : "What was wrong? (optional)"} value=${note} onInput=${(event) => setNote(event.currentTarget.value)} />
      ${!good && html`<select aria-label="The tool that would have been right" value=${tool} onChange=${(event) => setTool(event.currentTarget.value)}>
        <option value="">Which of ${plural(tools.length, "tool")} would have been right?</option>
        ${tools.map((one) => html`<option value=${one.name}>${one.name}</option>`)}
      </select>`}
      ${outcome?.error && html`<${Notice} message=${outcome.error.message} hint=${outcome.error.hint} />`}
      <button class="button">Send</button>
    </form>
  `;
}
