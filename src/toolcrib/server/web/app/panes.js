// Which panes stand beside the chat, and, where only one thing has room (a phone), which one it is.

import { createStore } from "./store.js";
import { remember, remembered } from "./settings.js";

export const panes = createStore({
  site: remembered("pane.site", "open") === "open",
  inspector: remembered("pane.inspector", "open") === "open",
  sessions: remembered("pane.sessions", "open") === "open",
  single: "chat", // chat, site or inspector
});

export function togglePane(name) {
  const open = !panes.get()[name];
  remember(`pane.${name}`, open ? "open" : "closed");
  panes.set({ [name]: open });
}

export const showSingle = (name) => panes.set({ single: name });
