// One conversation: open it, say something, answer a question, stop. The server holds the truth; here is how it is told.

import { answerConfirmation, createSession, deleteSession, followRun, getChanges, getSession, renameSession, sendMessage, stopRun, undoCall } from "./api.js";
import { ended, settled, withAnswer, withEvent } from "./conversation.js";
import { loadSessions, lostServer } from "./loading.js";
import { chosenModel } from "./models.js";
import { go } from "./route.js";
import { forget as forgetSetting } from "./settings.js";
import { showOnSite, state, toolNamed } from "./state.js";
import { otherTabs } from "./tabs.js";

const RECONNECT_MS = [300, 1000, 3000];
const SITE_MS = 120;
let listening = null; // the AbortController of the stream that is read now
let missed = false; // another tab did something while this one was reading
let unsettled = false; // events came, and what stands around the turns was not fetched since
let seen = -1; // the newest event that the log had when the session was opened: what came before changes nothing here
let last = null; // the number of the newest event on the page; the server tells what came after it

/** Show a session; null is a new one, which the server learns of with the first message. */
export async function openSession(id) {
  if (id === state.get().sessionId) return;
  listening?.abort();
  last = null;
  state.set({ sessionId: id, title: "", turns: [], memory: null, active: [], changes: [], waiting: [], running: false, notice: null, loading: id !== null });
  seen = Infinity;
  if (id === null) return;
  await refreshAround(id);
  if (state.get().sessionId === id) await follow(id);
}

/** Read what the log has, and go on listening when a run is under way. */
async function follow(id) {
  await listen(id, (signal) => followRun(id, last, signal));
  if (state.get().sessionId === id) state.set({ loading: false });
}

/** It was deleted, here or elsewhere: what is said next begins a new conversation. */
function forget(id) {
  if (state.get().sessionId !== id) return;
  state.set({ sessionId: null, turns: [], memory: null, active: [], loading: false });
  go(["chat"], { replace: true });
  loadSessions();
}

export async function send(text) {
  if (state.get().running || !text.trim()) return;
  state.set({ running: true, notice: null });
  let id = state.get().sessionId;
  try {
    if (id === null) {
      id = (await createSession()).id;
      last = null;
      seen = -1;
      state.set({ sessionId: id, turns: [] });
      go(["chat", id], { replace: true });
    }
  } catch (error) {
    state.set({ running: false });
    failed(error);
    return;
  }
  await listen(id, (signal) => sendMessage(id, text.trim(), chosenModel(), signal), { ours: true });
}

/** Answer a question; with `args`, what the user wants to call it with instead. */
export async function answer(confirmation, approved, args) {
  const id = state.get().sessionId;
  if (state.get().running || id === null) return;
  state.set({ turns: withAnswer(state.get().turns, confirmation, approved ? "approved" : "declined"), running: true, notice: null });
  const accepted = await listen(id, (signal) => answerConfirmation(id, confirmation, approved, args, chosenModel(), signal), { ours: true });
  if (accepted) return;
  state.set({ turns: withAnswer(state.get().turns, confirmation, null) });
  await follow(id); // another tab was faster, or it is too old: show what became of it
}

/** Make what a call changed what it was before; throws why that cannot be. */
export async function undo(change) {
  const id = state.get().sessionId;
  await undoCall(id, change.call);
  await refreshChanges(id);
  otherTabs.tell(id);
  showOnSite(placeOf(state.get().changes.find((one) => one.call === change.call)), { written: true });
}

export async function stop() {
  const { sessionId, running } = state.get();
  if (!running || sessionId === null) return;
  try {
    await stopRun(sessionId);
  } catch (error) {
    failed(error);
  }
}

export async function rename(id, title) {
  try {
    await renameSession(id, title);
    if (state.get().sessionId === id) state.set({ title });
  } catch (error) {
    failed(error);
  }
  await loadSessions();
}

export async function remove(id) {
  try {
    await deleteSession(id);
  } catch (error) {
    failed(error);
    return;
  }
  forgetSetting(`draft.${id}`);
  if (state.get().sessionId === id) go(["chat"]);
  await loadSessions();
}

/** Read a stream of events to its end, and again from where it broke. Gives whether anything was heard.
 *
 * `ours`: this tab let it happen, and tells the others.
 */
async function listen(id, open, { ours = false } = {}) {
  listening?.abort();
  const mine = (listening = new AbortController());
  let heard = false;
  for (let attempt = 0; ; attempt++) {
    try {
      for await (const event of attempt ? followRun(id, last, mine.signal) : open(mine.signal)) {
        if (mine.signal.aborted) return heard;
        last = event.id ?? last;
        take({ ...event.data, number: Number(event.id) }, Number(event.id) > seen);
        if (ours && !heard) otherTabs.tell(id);
        heard = true;
      }
      break;
    } catch (error) {
      if (mine.signal.aborted) return heard;
      // Refused, or nothing was heard: the message may not have arrived, and must not be sent twice.
      if (error.status || !heard || attempt >= RECONNECT_MS.length) {
        failed(error);
        if (error.status === 404) forget(id);
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS[attempt]));
    }
  }
  if (mine.signal.aborted) return heard;
  finish(id);
  if (ours) otherTabs.tell(id);
  return heard;
}

function take(event, isNew) {
  const before = state.get();
  const turns = withEvent(before.turns, event, performance.now());
  unsettled = true;
  const change = { turns, running: turns.at(-1)?.running ?? false, loading: false };
  if (isNew && event.type === "confirmation_required") change.waiting = [...before.waiting, event.id];
  if (event.type === "tools_enabled") change.active = [...new Set([...before.active, ...event.names])];
  if (isNew && event.type === "tool_finished" && mayChangeSite(event)) lookAtSite(event.text);
  state.set(change);
}

function mayChangeSite(event) {
  return !event.failed && !event.text.startsWith("requires_confirmation") && toolNamed(event.inner ?? event.name)?.risk !== "safe";
}

/** Where a change can be looked at; what is gone leaves the site's home. */
function placeOf({ changes: [first], undone }) {
  const gone = first.action === (undone ? "create" : "delete");
  return gone ? state.get().app.site : first.path;
}

let siteTimer = null;
let knownBefore = null; // {id, calls}: the changes that were known when the first of several was made

// A little later, and once for several changes. Where the server knows what calls changed, only when this one did.
function lookAtSite(text) {
  clearTimeout(siteTimer);
  const id = state.get().sessionId;
  // Taken now: a run that ends before the timer does reads the changes, too.
  if (knownBefore?.id !== id) knownBefore = { id, calls: new Set(state.get().changes.map((one) => one.call)) };
  const known = knownBefore.calls;
  siteTimer = setTimeout(async () => {
    knownBefore = null;
    await refreshChanges(id);
    const made = state.get().changes.filter((one) => !known.has(one.call));
    const { app, sessionId } = state.get();
    if (sessionId !== id || !app?.site || (app.undo && !made.length)) return;
    const named = /\/site\/(?!images\/)[\w\-/]*/.exec(text)?.[0];
    showOnSite(made.length ? placeOf(made.at(-1)) : named && `${named}?preview=1`, { written: true }); // a draft needs it
  }, SITE_MS);
}

async function refreshChanges(id) {
  if (!state.get().app?.undo) return;
  try {
    const changes = await getChanges(id);
    if (state.get().sessionId === id) state.set({ changes });
  } catch {
    // They are shown as they were.
  }
}

function finish(id) {
  state.set({ running: false, turns: ended(state.get().turns) });
  if (missed) {
    missed = false;
    setTimeout(() => follow(id)); // after this stream is done with
  }
  if (unsettled) { // also when another stream heard them, and was cut off for this one
    unsettled = false;
    refreshAround(id);
    loadSessions();
  }
}

/** What stands around the turns: title, memory, active tools, and which questions are still open. */
async function refreshAround(id) {
  refreshChanges(id);
  try {
    const kept = await getSession(id);
    const { sessionId, turns, running } = state.get();
    if (sessionId !== id) return;
    if (seen === Infinity) seen = kept.last_event_id;
    const around = { title: kept.title, memory: kept.memory, active: kept.active ?? [], waiting: (kept.confirmations ?? []).map((one) => one.id) };
    state.set(running ? around : { ...around, turns: settled(turns, kept.confirmations ?? []) });
  } catch {
    // They are shown as they were; whoever reads the log says what is wrong.
  }
}

function failed(error) {
  if (!error.status) lostServer();
  state.set({ notice: { message: error.message, hint: error.hint ?? "" } });
}

otherTabs.hear((id) => {
  if (id !== state.get().sessionId) loadSessions();
  else if (state.get().running || state.get().loading) missed = true;
  else follow(id);
});
