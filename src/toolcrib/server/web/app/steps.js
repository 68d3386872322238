// The steps of a turn in time: the model thinks, a search or a tool runs, the model thinks again. In ms from its start.
//
// While a turn goes on, the times are those at which events reached the page; when it is over, the server's own.

export function openModel(steps, at) {
  return [...steps, { kind: "model", label: "model", start: at, end: null }];
}

export function closeModel(steps, at) {
  return steps.map((step) => (step.kind === "model" && step.end === null ? { ...step, end: at, open: false } : step));
}

export function openStep(steps, step, at) {
  return [...closeModel(steps, at), { ...step, start: at, end: null, open: true }];
}

export function finishStep(steps, kind, label, tookMs, at, failed = false) {
  const index = steps.findIndex((step) => step.kind === kind && step.label === label && step.open);
  if (index < 0) return steps;
  const step = steps[index];
  // The server's own figure is better than when the event reached us.
  const end = Math.max(at, step.start + tookMs);
  const done = { ...step, start: end - tookMs, end, tookMs, failed, open: false };
  const after = steps.map((other, place) => (place === index ? done : other));
  return after.some((other) => other.open) ? after : openModel(after, at);
}

/** The steps as the server measured them, when the turn is over; what is left of its time is a step of its own. */
export function measured(steps, usage) {
  const failed = new Set(steps.filter((step) => step.failed).map((step) => step.label));
  const timed = (usage.report?.timeline ?? []).map((one) => ({
    kind: one.kind,
    label: one.label,
    start: one.at_ms,
    end: one.at_ms + one.took_ms,
    failed: one.kind === "tool" && failed.has(one.label),
  }));
  const total = usage.seconds * 1000;
  const rest = total - covered(timed);
  const last = Math.max(0, ...timed.map((step) => step.end));
  return rest > 0 ? [...timed, { kind: "rest", label: "the rest", start: last, end: last + rest }] : timed;
}

/** How much time these steps take together; tools that run at once share theirs. */
function covered(steps) {
  let until = 0;
  let sum = 0;
  for (const step of [...steps].sort((a, b) => a.start - b.start)) {
    sum += Math.max(0, step.end - Math.max(step.start, until));
    until = Math.max(until, step.end);
  }
  return sum;
}

/** What can be drawn: steps that have ended and took any time worth a line. */
export function drawable(steps) {
  return steps.filter((step) => step.end !== null && (step.kind !== "model" || step.end - step.start >= 0.05));
}
