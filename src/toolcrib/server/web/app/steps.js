// The steps of a turn in time: the model thinks, a search or a tool runs, the model thinks again. In ms from its start.
//
// Live, each event has a time. Of a turn from the log only durations are known: `relaid` puts them one after another.

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

/** Steps without times, one after another; what the tools did not take is the model's, in equal parts. */
export function relaid(steps, totalMs) {
  const known = steps.reduce((sum, step) => sum + (step.tookMs ?? 0), 0);
  const models = steps.filter((step) => step.kind === "model").length;
  const share = models ? Math.max(0, totalMs - known) / models : 0;
  let clock = 0;
  return steps.map((step) => {
    const start = clock;
    clock += step.kind === "model" ? share : (step.tookMs ?? 0);
    return { ...step, start, end: clock, open: false };
  });
}

/** What can be drawn: steps that have ended and took any time worth a line. */
export function drawable(steps) {
  return steps.filter((step) => step.end !== null && (step.kind !== "model" || step.end - step.start >= 0.05));
}
