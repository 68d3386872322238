// The conversations that are kept, newest first: found by what was written in them, with titles of their own.

import { html, useEffect, useRef, useState } from "./html.js";
import { getSessions } from "./api.js";
import { ago } from "./format.js";
import { Icon } from "./icons.js";
import { closeDrawer, panes } from "./panes.js";
import { address } from "./route.js";
import { remove, rename } from "./session.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

const WAIT_MS = 160; // after the last key

export function SessionList() {
  const sessions = useStore(state, (value) => value.sessions);
  const current = useStore(state, (value) => value.sessionId);
  const [words, setWords] = useState("");
  const found = useFound(words, sessions);
  const list = useRef(null);
  useEffect(() => {
    if (panes.get().drawer) list.current.querySelector("a").focus(); // a drawer was opened to be used
  }, []);
  return html`
    <aside class="sessions" ref=${list} aria-label="Conversations">
      <a class="button new-chat" href="#/chat" onClick=${closeDrawer}><${Icon} name="plus" />New conversation</a>
      ${sessions.length > 0 && html`<input class="session-search" type="search" aria-label="Search conversations" placeholder="Search" value=${words} onInput=${(event) => setWords(event.currentTarget.value)} />`}
      ${sessions.length === 0
        ? html`<p class="quiet">What you talk about is kept here, on this machine.</p>`
        : found.length === 0
          ? html`<p class="quiet" role="status">No conversation contains that.</p>`
          : html`<ul>${found.map((session) => html`<${Entry} key=${session.id} session=${session} current=${session.id === current} />`)}</ul>`}
    </aside>
  `;
}

/** All conversations, or those that the server finds these words in. */
function useFound(words, sessions) {
  const [found, setFound] = useState(null);
  const asked = words.trim();
  useEffect(() => {
    if (!asked) {
      setFound(null);
      return undefined;
    }
    let over = false;
    const timer = setTimeout(() => getSessions(asked).then((listed) => over || setFound(listed), () => {}), WAIT_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [asked, sessions]);
  return (asked && found) || sessions;
}

// Deleting asks in place: the button becomes the question, and forgets it when the pointer or the focus leaves.
function Entry({ session, current }) {
  const [asking, setAsking] = useState(false);
  const [naming, setNaming] = useState(false);
  const title = session.title || "Untitled";
  if (naming) return html`<li class="session"><${Title} title=${title} onEnd=${(name) => (setNaming(false), name && name !== title && rename(session.id, name))} /></li>`;
  return html`
    <li class="session" onMouseLeave=${() => setAsking(false)}>
      <a href=${address(["chat", session.id])} aria-current=${current ? "page" : null} onClick=${closeDrawer} title=${title}>
        <span class="session-title">${title}</span>
        <time datetime=${session.updated_at}>${ago(session.updated_at)}</time>
      </a>
      <button class="session-rename" aria-label=${`Rename “${title}”`} onClick=${() => setNaming(true)}><${Icon} name="pencil" size=${14} /></button>
      ${asking
        ? html`<button class="session-delete sure" onBlur=${() => setAsking(false)} onClick=${() => remove(session.id)}>Delete?</button>`
        : html`<button class="session-delete" aria-label=${`Delete “${title}”`} onClick=${() => setAsking(true)}><${Icon} name="trash" size=${14} /></button>`}
    </li>
  `;
}

function Title({ title, onEnd }) {
  const field = useRef(null);
  useEffect(() => field.current.select(), []);
  const over = useRef(false);
  const end = (name) => {
    if (over.current) return; // the field also loses the focus when it goes
    over.current = true;
    onEnd(name);
  };
  const press = (event) => {
    if (event.key === "Enter") end(event.currentTarget.value.trim());
    if (event.key === "Escape") {
      event.stopPropagation();
      end(null);
    }
  };
  return html`<input ref=${field} type="text" aria-label="Title of the conversation" maxlength="200" value=${title} onKeyDown=${press} onBlur=${(event) => end(event.currentTarget.value.trim())} />`;
}
