// The demo's site beside the chat. It reloads when a tool may have changed it, and goes where the change is.

import { html, useEffect, useRef, useState } from "./html.js";
import { Icon } from "./icons.js";
import { state } from "./state.js";
import { useStore } from "./store.js";
import { theme } from "./theme.js";

export function Site({ address, hidden }) {
  const change = useStore(state, (value) => value.siteChange);
  const colours = useStore(theme, (value) => value.name);
  const frame = useRef(null);
  const [path, setPath] = useState(address);
  const [fresh, setFresh] = useState(false);

  const visit = (where) => {
    if (frame.current) frame.current.contentWindow.location.replace(where);
  };
  const arrived = () => {
    try {
      const where = frame.current.contentWindow.location;
      if (where.pathname !== "blank") setPath(where.pathname + where.search);
      paint(frame.current, colours);
    } catch {
      // It left for a page of elsewhere, which may not be looked into.
    }
  };
  useEffect(() => paint(frame.current, colours), [colours]);
  useEffect(() => {
    if (!change.version) return undefined;
    visit(change.path ?? path);
    setFresh(change.written);
    const calm = setTimeout(() => setFresh(false), 1600);
    return () => clearTimeout(calm);
  }, [change.version]);

  return html`
    <section class="site" aria-label="Site" hidden=${hidden} data-fresh=${fresh}>
      <header class="pane-head">
        <span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>
        <span class="site-path mono" title=${path}>${path}</span>
        <span class="site-fresh" role="status">${fresh ? "updated" : ""}</span>
        <button class="icon-button" aria-label="Home of the site" title="Home" onClick=${() => visit(address)}><${Icon} name="window" size=${14} /></button>
        <button class="icon-button" aria-label="Reload the site" title="Reload" onClick=${() => visit(path)}><${Icon} name="reload" size=${14} /></button>
        <a class="icon-button" aria-label="Open the site in a new tab" title="Open in a new tab" href=${path} target="_blank" rel="noopener"><${Icon} name="external" size=${14} /></a>
      </header>
      <iframe ref=${frame} src=${address} title="The site" sandbox="allow-same-origin allow-popups" onLoad=${arrived}></iframe>
    </section>
  `;
}

/** Let the page in the frame have our theme; there is none while it loads, or where it is of elsewhere. */
function paint(frame, colours) {
  const root = frame?.contentDocument?.documentElement;
  if (root) root.dataset.theme = colours;
}
