// What a call changes or changed, thing by thing, and the way back.

import { html, useState } from "./html.js";
import { Icon } from "./icons.js";
import { Notice } from "./notices.js";
import { undo } from "./session.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

const DONE = { create: "created", delete: "deleted", update: "changed", restore: "restored" };
const WILL = { create: "will be created", delete: "will be deleted", update: "will be changed" };
const MOST = 6; // of things that are listed

export function Changes({ changes, future = false }) {
  const more = changes.length - MOST;
  return html`
    <ul class="changes" aria-label=${future ? "What will be different" : "What changed"}>
      ${changes.slice(0, MOST).map((one) => html`
        <li>
          <p><strong>${one.title}</strong> <span class="quiet">${one.kind} ${(future ? WILL : DONE)[one.action]}</span></p>
          ${one.fields.length > 0 && html`<dl>${one.fields.map((field) => html`<div><dt>${field.name.replaceAll("_", " ")}</dt><dd><del dir="auto">${field.before || "–"}</del> <span aria-hidden="true">→</span> <ins dir="auto">${field.after || "–"}</ins></dd></div>`)}</dl>`}
        </li>
      `)}
      ${more > 0 && html`<li class="quiet">and ${more} more</li>`}
    </ul>
  `;
}

/** Under a finished call: what it changed in a line, with a button that undoes it. */
export function Undo({ callId }) {
  const change = useStore(state, (value) => value.changes.findLast((one) => one.call.endsWith(`:${callId}`)) ?? null);
  const running = useStore(state, (value) => value.running);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  if (!change) return null;
  const [first, ...others] = change.changes;
  const back = async () => {
    setBusy(true);
    setError(null);
    try {
      await undo(change);
    } catch (refused) {
      setError(refused);
    }
    setBusy(false);
  };
  return html`
    <p class="changed" data-undone=${change.undone} role="status">
      <${Icon} name=${change.undone ? "reload" : "check"} size=${14} />
      <span><strong>${first.title}</strong> ${DONE[first.action]}${others.length ? `, with ${others.length} more` : ""}${change.undone ? ", and undone" : ""}</span>
      ${!change.undone && html`<button class="foot-button" disabled=${busy || running} onClick=${back}>Undo</button>`}
    </p>
    ${error && html`<${Notice} message=${error.message} hint=${error.hint} onClose=${() => setError(null)} />`}
  `;
}
