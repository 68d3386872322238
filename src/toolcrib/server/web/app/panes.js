// Which panes stand beside the chat, and, where only one thing has room (a phone), which one it is.

import { createStore } from "./store.js";
import { remember, remembered } from "./settings.js";

export const panes = createStore({
  site: remembered("pane.site", "open") === "open",
  inspector: remembered("pane.inspector", "open") === "open",
  sessions: remembered("pane.sessions", "open") === "open",
  single: "chat", // chat, site or inspector
  drawer: false, // the conversations over the chat, where they have no column of their own
});

const narrow = matchMedia("(max-width: 1480px)"); // as in layout.css

export const closeDrawer = () => panes.set({ drawer: false });

export function togglePane(name) {
  if (name === "sessions" && narrow.matches) {
    panes.set({ drawer: !panes.get().drawer });
    return;
  }
  const open = !panes.get()[name];
  remember(`pane.${name}`, open ? "open" : "closed");
  panes.set({ [name]: open });
}

export const showSingle = (name) => panes.set({ single: name });
