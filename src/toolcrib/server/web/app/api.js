// The server's doors, one function each. Every failure becomes a `ServerError` with a message and a hint.

import { eventsOf } from "./event_stream.js";

export class ServerError extends Error {
  constructor(message, { hint = "", status = 0 } = {}) {
    super(message);
    this.hint = hint;
    this.status = status; // 0: the server could not be reached
  }
}

async function request(path, { method = "GET", body, headers = {}, signal } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server cannot be reached.", { hint: "Is it still running?" });
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  let said = {};
  try {
    said = await response.json();
  } catch {
    // A proxy may answer with something else; the status has to do.
  }
  const message = typeof said.error === "string" ? said.error : `The server answered with ${response.status}.`;
  return new ServerError(message, { hint: said.hint || "", status: response.status });
}

const json = async (path, options) => (await request(path, options)).json();
const part = encodeURIComponent;

export const logIn = (token) => request("/api/login", { method: "POST", body: { token } });
export const getApp = () => json("/api/app");
export const getModels = (local) => json(`/api/models?local=${local}`);
export const getSessions = (query = "") => json(`/api/sessions${query ? `?query=${part(query)}` : ""}`);
export const renameSession = (id, title) => request(`/api/sessions/${part(id)}`, { method: "PATCH", body: { title } });
export const sendFeedback = (id, feedback) => json(`/api/sessions/${part(id)}/feedback`, { method: "POST", body: feedback });
export const getSession = (id) => json(`/api/sessions/${part(id)}`);
export const createSession = () => json("/api/sessions", { method: "POST", body: {} });
export const deleteSession = (id) => request(`/api/sessions/${part(id)}`, { method: "DELETE" });
export const stopRun = (id) => request(`/api/sessions/${part(id)}/stop`, { method: "POST", body: {} });

export const getPreview = (id, confirmation) => json(`/api/sessions/${part(id)}/confirmations/${part(confirmation)}`);
export const getChanges = (id) => json(`/api/sessions/${part(id)}/changes`);
export const undoCall = (id, call) => json(`/api/sessions/${part(id)}/undo`, { method: "POST", body: { call } });

export const getTools = () => json("/api/tools");
export const getTool = (name) => json(`/api/tools/${part(name)}`);
export const tryTool = (name, args, approved) => json(`/api/tools/${part(name)}/try`, { method: "POST", body: { arguments: args, approved } });
export const getCategories = () => json("/api/categories");
export const getFindings = () => json("/api/check");
export const getTokens = () => json("/api/tokens");
export const search = (query, limit, signal) => json("/api/search", { method: "POST", body: { query, limit }, signal });

/** Say something, to the app's own model if none is chosen; what happens comes back as events. */
export async function* sendMessage(id, text, model, signal) {
  yield* eventsOf(await request(`/api/sessions/${part(id)}/messages`, { method: "POST", body: { text, model }, signal }));
}

/** Answer a question by a button; what happens comes back as events. With `args`, the yes is to these instead. */
export async function* answerConfirmation(id, confirmation, approved, args, model, signal) {
  const path = `/api/sessions/${part(id)}/confirmations/${part(confirmation)}`;
  const body = args === undefined ? { approved, model } : { approved, arguments: args, model };
  yield* eventsOf(await request(path, { method: "POST", body, signal }));
}

/** All that happened after the event `last` (null: from the first on), and what happens until the run is over. */
export async function* followRun(id, last, signal) {
  const headers = { "last-event-id": last ?? "-1" };
  const response = await request(`/api/sessions/${part(id)}/messages`, { headers, signal });
  if (response.status !== 204) yield* eventsOf(response);
}
