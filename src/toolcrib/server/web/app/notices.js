// What to say when something is missing: the server, an answer, or anything to show.

import { html } from "./html.js";
import { Icon } from "./icons.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

export function Offline() {
  const online = useStore(state, (value) => value.online);
  return html`
    <div class="offline" role="status" aria-live="polite">
      ${!online && html`<p><span class="offline-dot"></span>The server cannot be reached. Looking for it again; nothing you wrote is lost.</p>`}
    </div>
  `;
}

export function Trouble({ message, hint }) {
  return html`<div class="empty" role="alert"><h1>${message}</h1>${hint && html`<p>${hint}</p>`}</div>`;
}

/** A message about one thing that did not work, near where it was tried. */
export function Notice({ message, hint, onClose }) {
  return html`
    <div class="notice" role="alert">
      <${Icon} name="warning" />
      <p><strong>${message}</strong>${hint && html` ${hint}`}</p>
      ${onClose && html`<button class="icon-button" aria-label="Close" onClick=${onClose}><${Icon} name="cross" /></button>`}
    </div>
  `;
}

/** Grey bars in the size of what is coming, so that nothing jumps when it comes. */
export function Skeleton({ lines = 3 }) {
  return html`<div class="skeleton" aria-hidden="true">${Array.from({ length: lines }, () => html`<span></span>`)}</div>`;
}
