// What the page needs once: what is served, and the tools. Also whether the server is there at all.

import { getApp, getSessions, getTools } from "./api.js";
import { loadModels } from "./models.js";
import { state } from "./state.js";

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15_000;
const TOOLS_MS = 150; // how long the page waits for the tools, so that it appears whole and nothing jumps

export async function loadApp() {
  try {
    const tools = loadTools();
    const [app, sessions] = await Promise.all([getApp(), getSessions()]);
    await Promise.race([tools, new Promise((resolve) => setTimeout(resolve, TOOLS_MS))]);
    state.set({ app, sessions, online: true, trouble: null });
    loadModels();
    document.title = app.name ? `${app.name} · Toolcrib` : "Toolcrib";
  } catch (error) {
    if (error.status) state.set({ trouble: { message: error.message, hint: error.hint, status: error.status } });
    else lostServer();
  }
}

/** A catalog may have thousands of tools: nobody waits long for them. */
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
