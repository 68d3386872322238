// What the page needs once: what is served, and the tools. Also whether the server is there at all.

import { getApp, getSessions, getTools } from "./api.js";
import { state } from "./state.js";

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15_000;

export async function loadApp() {
  try {
    const [app, sessions] = await Promise.all([getApp(), getSessions()]);
    state.set({ app, sessions, online: true, trouble: null });
    document.title = app.name ? `${app.name} · Toolcrib` : "Toolcrib";
    loadTools();
  } catch (error) {
    if (error.status) state.set({ trouble: { message: error.message, hint: error.hint } });
    else lostServer();
  }
}

/** Tools are fetched after the first paint: a catalogue may have thousands. */
export async function loadTools() {
  try {
    state.set({ tools: await getTools() });
  } catch {
    state.set({ tools: [] }); // the views that need them say so
  }
}

export async function loadSessions() {
  try {
    state.set({ sessions: await getSessions() });
  } catch {
    // The list is a comfort; the next change asks again.
  }
}

let waiting = null;

/** The server is gone: say so, and look for it, less often each time. */
export function lostServer(retryMs = FIRST_RETRY_MS) {
  state.set({ online: false });
  if (waiting) return;
  waiting = setTimeout(async () => {
    waiting = null;
    try {
      await getApp();
      state.set({ online: true });
      if (!state.get().app) loadApp();
    } catch {
      lostServer(Math.min(retryMs * 2, LONGEST_RETRY_MS));
    }
  }, retryMs);
}
