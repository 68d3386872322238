// The conversations that are kept, newest first.

import { html, useEffect, useRef, useState } from "./html.js";
import { ago } from "./format.js";
import { Icon } from "./icons.js";
import { closeDrawer, panes } from "./panes.js";
import { address } from "./route.js";
import { remove } from "./session.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

export function SessionList() {
  const sessions = useStore(state, (value) => value.sessions);
  const current = useStore(state, (value) => value.sessionId);
  const list = useRef(null);
  useEffect(() => {
    if (panes.get().drawer) list.current.querySelector("a").focus(); // a drawer was opened to be used
  }, []);
  return html`
    <aside class="sessions" ref=${list} aria-label="Conversations">
      <a class="button new-chat" href="#/chat" onClick=${closeDrawer}><${Icon} name="plus" />New conversation</a>
      ${sessions.length === 0
        ? html`<p class="quiet">What you talk about is kept here, on this machine.</p>`
        : html`<ul>${sessions.map((session) => html`<${Entry} key=${session.id} session=${session} current=${session.id === current} />`)}</ul>`}
    </aside>
  `;
}

// Deleting asks in place: the button becomes the question, and forgets it when the pointer or the focus leaves.
function Entry({ session, current }) {
  const [asking, setAsking] = useState(false);
  const title = session.title || "Untitled";
  return html`
    <li class="session" onMouseLeave=${() => setAsking(false)}>
      <a href=${address(["chat", session.id])} aria-current=${current ? "page" : null} onClick=${closeDrawer} title=${title}>
        <span class="session-title">${title}</span>
        <time datetime=${session.updated_at}>${ago(session.updated_at)}</time>
      </a>
      ${asking
        ? html`<button class="session-delete sure" onBlur=${() => setAsking(false)} onClick=${() => remove(session.id)}>Delete?</button>`
        : html`<button class="session-delete" aria-label=${`Delete “${title}”`} onClick=${() => setAsking(true)}><${Icon} name="trash" size=${14} /></button>`}
    </li>
  `;
}
