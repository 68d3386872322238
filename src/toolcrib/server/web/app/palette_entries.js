// What the palette offers: the actions first, then places to go, suggestions, conversations and tools.

import { exportConversation } from "./export.js";
import { togglePane } from "./panes.js";
import { go } from "./route.js";
import { send, stop } from "./session.js";
import { state } from "./state.js";
import { toggleTheme } from "./theme.js";

export function paletteEntries({ app, sessions, tools, turns, running }) {
  const entry = (kind, label, act) => ({ kind, label, act });
  return [
    ...(running ? [entry("Action", "Stop", stop)] : []),
    entry("Action", "New conversation", () => go(["chat"])),
    entry("Place", "Playground: search the tools", () => go(["playground"])),
    entry("Place", "Catalog: all tools", () => go(["catalog"])),
    entry("Action", "Switch between dark and light", toggleTheme),
    entry("Action", "Show or hide the inspector", () => togglePane("inspector")),
    ...(app?.site ? [entry("Action", "Show or hide the site", () => togglePane("site"))] : []),
    entry("Action", "Show or hide the conversations", () => togglePane("sessions")),
    ...(turns.length ? [entry("Action", "Export this conversation", exportConversation)] : []),
    ...(app?.suggestions ?? []).map((text) => entry("Ask", text, () => ask(text))),
    ...sessions.map((session) => entry("Conversation", session.title || "Untitled", () => go(["chat", session.id]))),
    ...(tools ?? []).map((tool) => entry("Tool", tool.name, () => go(["catalog", tool.name]))),
  ];
}

/** Entries that contain every word typed; those that begin with one come first. */
export function matching(entries, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return entries;
  const found = entries.filter((entry) => words.every((word) => `${entry.label} ${entry.kind}`.toLowerCase().includes(word)));
  const begins = (entry) => (entry.label.toLowerCase().startsWith(words[0]) ? 0 : 1);
  return found.sort((a, b) => begins(a) - begins(b));
}

function ask(text) {
  const { sessionId } = state.get();
  go(["chat", ...(sessionId ? [sessionId] : [])]);
  send(text);
}
