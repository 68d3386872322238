// Everything by its name: actions, places, conversations, tools. Ctrl+K or Cmd+K.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { matching, paletteEntries } from "./palette_entries.js";
import { state } from "./state.js";
import { createStore, useStore } from "./store.js";

const MOST = 40;
const open = createStore({ is: false });

export const openPalette = () => open.set({ is: true });
export const paletteIsOpen = () => open.get().is;
const close = () => open.set({ is: false });

export function Palette() {
  const is = useStore(open, (value) => value.is);
  return is ? html`<${OpenPalette} />` : null;
}

function OpenPalette() {
  const dialog = useRef(null);
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState(0);
  const entries = matching(paletteEntries(useStore(state)), words).slice(0, MOST);
  useLayoutEffect(() => {
    dialog.current.showModal(); // at once: the next key may be pressed already
  }, []);
  useEffect(() => {
    dialog.current.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  const act = (entry) => {
    if (!entry) return;
    close();
    entry.act();
  };
  const press = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && entries.length) {
      event.preventDefault();
      setChosen((chosen + step + entries.length) % entries.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      act(entries[chosen]);
    }
  };
  return html`
    <dialog class="palette" ref=${dialog} aria-label="Command palette" onClose=${close} onClick=${(event) => event.target === dialog.current && close()}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-entries"
        aria-activedescendant=${entries.length ? `palette-${chosen}` : null}
        aria-label="What to do"
        placeholder="A place, a tool, a conversation"
        autocomplete="off"
        spellcheck="false"
        value=${words}
        onInput=${(event) => {
          setWords(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown=${press}
      />
      <ul id="palette-entries" role="listbox" aria-label="Matches">
        ${entries.map((entry, place) => html`
          <li key=${entry.kind + entry.label} id="palette-${place}" role="option" aria-selected=${place === chosen} onMouseMove=${() => place !== chosen && setChosen(place)} onClick=${() => act(entry)}>
            <span class="palette-label ${entry.kind === "Tool" ? "mono" : ""}">${entry.label}</span><span class="palette-kind">${entry.kind}</span>
          </li>
        `)}
        ${entries.length === 0 && html`<li class="quiet">Nothing is called that.</li>`}
      </ul>
    </dialog>
  `;
}
