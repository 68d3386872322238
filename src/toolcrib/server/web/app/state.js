// What the page shows, in one place. `session.js` changes the conversation, `loading.js` the rest.

import { createStore } from "./store.js";

export const state = createStore({
  app: null, // what is served: name, mode, surface, model, suggestions, site
  trouble: null, // why the page cannot work at all: {message, hint}
  online: true,
  tools: null, // every tool, for the pegboard, the catalog and the palette
  sessions: [],
  sessionId: null,
  title: "",
  turns: [],
  memory: null,
  active: [], // names of the tools that the model sees now
  running: false,
  loading: false, // a session is being fetched
  notice: null, // a passing message: {message, hint}
  siteChange: { version: 0, path: null, written: false }, // grows when the site should be looked at again
  waiting: [], // ids of the questions that the server still wants an answer to
  changes: [], // what calls of this conversation changed, oldest first
});

export const toolNamed = (name) => state.get().tools?.find((tool) => tool.name === name) ?? null;

/** Let the site beside the chat go somewhere, or, with null, look again where it is; `written`: as it was changed. */
export function showOnSite(path, { written = false } = {}) {
  state.set((now) => ({ siteChange: { version: now.siteChange.version + 1, path, written } }));
}
