// A conversation as a list of turns, built from the runner's events. Pure: events in, turns out; nothing is fetched.
//
// A turn is what the user said and what happened then: `items` in the order they appeared on the page, `steps` for the
// timeline, `usage` when it is over.

import { closeModel, finishStep, measured, openModel, openStep } from "./steps.js";

/** The turns after one more event, which came at `at` (ms). */
export function withEvent(turns, event, at) {
  if (event.type === "run_started") return [...ended(answeredBy(event, turns)), newTurn(event, at)];
  if (event.type === "feedback") return turns.map((turn) => (turn.number === event.run ? { ...turn, rating: event } : turn));
  const turn = turns.at(-1);
  if (!turn) return turns;
  const change = CHANGES[event.type];
  return change ? [...turns.slice(0, -1), { ...turn, ...change(turn, event, at) }] : turns;
}

/** The last turn is over, whatever is still open in it. */
export function ended(turns) {
  const turn = turns.at(-1);
  if (!turn || !turn.running) return turns;
  const items = turn.items.map((item) => (item.running ? { ...item, running: false, cut: true } : item));
  return [...turns.slice(0, -1), { ...turn, running: false, items }];
}

/** What became of a question: it is shown where it was asked. */
export function withAnswer(turns, id, answer) {
  const changed = (item) => (item.kind === "approval" && item.id === id ? { ...item, answer } : item);
  return turns.map((turn) => ({ ...turn, items: turn.items.map(changed) }));
}

/** Questions that nobody can answer any more, though no turn did, are closed. */
export function settled(turns, open) {
  const ids = new Set(open.map((one) => one.id));
  const look = (item) => (item.kind !== "approval" || item.answer || ids.has(item.id) ? item : { ...item, answer: "closed" });
  return turns.map((turn) => ({ ...turn, items: turn.items.map(look) }));
}

// A turn that began with the answer to a question says which; in every tab, however the answer was given.
function answeredBy(event, turns) {
  if (!event.confirmation) return turns;
  return withAnswer(turns, event.confirmation, event.approved ? "approved" : "declined");
}

function newTurn(event, at) {
  return {
    user: event.text,
    confirmation: event.confirmation ?? null,
    model: event.model,
    number: event.number, // of its first event
    rating: null,
    began: at,
    running: true,
    items: [],
    steps: openModel([], 0),
    usage: null,
  };
}

const STOPPED = "Stopped."; // how the server ends a run that the user stopped

const since = (turn, at) => at - turn.began;

const CHANGES = {
  text: (turn, event) => ({ items: withText(turn.items, event.delta) }),

  answered: (turn, event, at) => ({
    items: withWholeAnswer(turn.items, event.text),
    choices: event.choices ?? [],
    steps: closeModel(turn.steps, since(turn, at)),
  }),

  tool_discovery_start: (turn, event, at) => ({
    items: [...turn.items, { kind: "discovery", query: event.query, tools: [], running: true }],
    steps: openStep(turn.steps, { kind: "search", label: event.query }, since(turn, at)),
  }),

  tool_discovery_result: (turn, event, at) => ({
    items: replacedLast(turn.items, (item) => item.kind === "discovery" && item.running && item.query === event.query, {
      tools: event.tools,
      confidence: event.confidence,
      tookMs: event.took_ms,
      running: false,
    }),
    steps: finishStep(turn.steps, "search", event.query, event.took_ms, since(turn, at)),
  }),

  tools_enabled: (turn, event) => ({ items: withEnabled(turn.items, event.names) }),

  tool_started: (turn, event, at) => ({
    items: [...turn.items, { kind: "call", id: event.call_id, name: event.name, arguments: event.arguments, running: true }],
    steps: openStep(turn.steps, { kind: "tool", label: event.name }, since(turn, at)),
  }),

  tool_finished: (turn, event, at) => ({
    items: replacedLast(turn.items, (item) => item.kind === "call" && item.id === event.call_id, {
      text: event.text,
      failed: event.failed,
      tookMs: event.took_ms,
      running: false,
    }),
    steps: finishStep(turn.steps, "tool", event.name, event.took_ms, since(turn, at), event.failed),
  }),

  confirmation_required: (turn, event) => ({
    items: turn.items.some((item) => item.kind === "approval" && item.id === event.id)
      ? turn.items
      : [...turn.items, { ...event, kind: "approval", answer: null }],
  }),

  warning: (turn, event) => ({ items: [...turn.items, { kind: "warning", text: event.text }] }),

  failed: (turn, event, at) => ({
    items: [...turn.items, event.message === STOPPED ? { kind: "stopped" } : { kind: "failed", message: event.message, hint: event.hint }],
    steps: closeModel(turn.steps, since(turn, at)),
  }),

  usage: (turn, event, at) => ({
    usage: event,
    running: false,
    steps: measured(turn.steps, event),
  }),
};

function withText(items, delta) {
  const last = items.at(-1);
  if (last?.kind === "text") return [...items.slice(0, -1), { ...last, text: last.text + delta }];
  return [...items, { kind: "text", text: delta }];
}

// The log does not keep pieces of text, and a provider that does not stream sends none: the answer fills what is missing.
function withWholeAnswer(items, text) {
  const last = items.at(-1);
  if (last?.kind === "text") return [...items.slice(0, -1), { kind: "text", text, answer: true }];
  return text ? [...items, { kind: "text", text, answer: true }] : items;
}

// Enabled tools belong to the search that found them; without one (preloaded ones), they get a line of their own.
function withEnabled(items, names) {
  const at = items.findLastIndex((item) => item.kind === "discovery");
  if (at < 0) return [...items, { kind: "enabled", names }];
  return items.map((item, index) => (index === at ? { ...item, enabled: [...(item.enabled ?? []), ...names] } : item));
}

function replacedLast(items, matches, change) {
  const at = items.findLastIndex(matches);
  return at < 0 ? items : items.map((item, index) => (index === at ? { ...item, ...change } : item));
}
