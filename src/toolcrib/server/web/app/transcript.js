// Everything that was said and done, top to bottom; it follows the end unless the reader has scrolled up.

import { html, useEffect, useLayoutEffect, useRef } from "./html.js";
import { Skeleton } from "./notices.js";
import { showOnSite, state } from "./state.js";
import { useStore } from "./store.js";
import { Turn } from "./turn.js";
import { Welcome } from "./welcome.js";

const NEAR_PX = 80;

export function Transcript() {
  const turns = useStore(state, (value) => value.turns);
  const loading = useStore(state, (value) => value.loading);
  const sessionId = useStore(state, (value) => value.sessionId);
  const title = useStore(state, (value) => value.title);
  const box = useRef(null);
  const following = useRef(true);
  useEffect(() => {
    following.current = true;
  }, [sessionId]);
  useLayoutEffect(() => {
    if (following.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [turns]);
  // Cards grow when they learn more: a preview, a picture.
  useEffect(() => {
    const grown = new ResizeObserver(() => {
      if (following.current && box.current) box.current.scrollTop = box.current.scrollHeight;
    });
    grown.observe(box.current.firstElementChild);
    return () => grown.disconnect();
  }, []);
  const look = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    following.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
  };
  // Without a site pane in sight (a phone), the link opens a tab, as links do.
  const follow = (event) => {
    const path = event.target.closest("a")?.getAttribute("href") ?? "";
    if (!/^\/site(\/|$)/.test(path) || !document.querySelector(".site")?.checkVisibility()) return;
    event.preventDefault();
    showOnSite(path);
  };
  return html`
    <div class="transcript" ref=${box} onScroll=${look} onClick=${follow} role="log" aria-live="polite" aria-label="Messages" tabindex="0">
      <div class="transcript-inner">
        ${turns.length > 0 && html`<h1 class="visually-hidden">${title || "Conversation"}</h1>`}
        ${loading ? html`<${Skeleton} lines=${6} />` : turns.length === 0 ? html`<${Welcome} />` : null}
        ${turns.map((turn, place) => html`<${Turn} key=${place} turn=${turn} isLast=${place === turns.length - 1} />`)}
      </div>
    </div>
  `;
}
