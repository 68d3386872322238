// Where the user writes. Enter sends, Shift+Enter makes a line, Esc stops.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { Icon } from "./icons.js";
import { Notice } from "./notices.js";
import { send, stop } from "./session.js";
import { forget, remember, remembered } from "./settings.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

const TALLEST_PX = 200;

export const draftOf = (sessionId) => `draft.${sessionId ?? "new"}`;

export function Composer() {
  const running = useStore(state, (value) => value.running);
  const notice = useStore(state, (value) => value.notice);
  const sessionId = useStore(state, (value) => value.sessionId);
  const [text, setShown] = useState("");
  const field = useRef(null);
  // What is not sent yet belongs to its conversation, also after a reload.
  const setText = (words, id = state.get().sessionId) => {
    if (id === state.get().sessionId) setShown(words);
    if (words) remember(draftOf(id), words);
    else forget(draftOf(id));
  };
  useEffect(() => setShown(remembered(draftOf(sessionId), "")), [sessionId]);
  useEffect(() => {
    // On a touch screen the focus would open the keyboard over the page.
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
  }, [sessionId]);
  useLayoutEffect(() => {
    field.current.style.height = "auto";
    field.current.style.height = `${Math.min(field.current.scrollHeight, TALLEST_PX)}px`;
  }, [text]);

  const submit = async (event) => {
    event?.preventDefault();
    if (running || !text.trim()) return;
    const words = text;
    const id = sessionId;
    setText("");
    await send(words);
    // Nothing was said to the server: the words come back instead of being lost.
    const here = id ?? state.get().sessionId;
    const said = state.get().sessionId === here && state.get().turns.at(-1)?.user === words.trim();
    if (state.get().notice && !said && !remembered(draftOf(here), "")) setText(words, here);
  };
  const press = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  };
  return html`
    <form class="composer" onSubmit=${submit}>
      ${notice && html`<${Notice} ...${notice} onClose=${() => state.set({ notice: null })} />`}
      <div class="composer-box">
        <textarea
          ref=${field}
          data-words
          rows="1"
          dir="auto"
          aria-label="Your message"
          placeholder="Ask in any language"
          value=${text}
          onInput=${(event) => setText(event.currentTarget.value)}
          onKeyDown=${press}
        ></textarea>
        ${running
          ? html`<button type="button" class="send" aria-label="Stop" title="Stop (Esc)" onClick=${stop}><${Icon} name="stop" /></button>`
          : html`<button type="submit" class="send" aria-label="Send" title="Send (Enter)" disabled=${!text.trim()}><${Icon} name="send" /></button>`}
      </div>
      <p class="keys" aria-hidden="true"><kbd>Enter</kbd> send <kbd>Shift Enter</kbd> new line <kbd>Esc</kbd> stop</p>
    </form>
  `;
}
