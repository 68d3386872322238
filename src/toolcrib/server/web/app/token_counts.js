// The token figures of a conversation: every request to the model, by part, beside the same request with all tools.

export const PARTS = [
  ["definitions", "Tool definitions"],
  ["protocols", "Protocols"],
  ["prompt", "Prompt"],
  ["memory", "Memory"],
  ["history", "History"],
];

/** Each request so far, with its parts, its total, and the total it would have with every definition in it. */
export function requestsOf(turns) {
  return turns.flatMap((turn) => {
    const report = turn.usage?.report;
    const all = report?.all_tools_loaded?.per_request ?? 0;
    return (report?.steps ?? []).map((parts) => {
      const total = PARTS.reduce((sum, [name]) => sum + (parts[name] ?? 0), 0);
      // Whoever loads everything has no protocols either: they are not counted there, to our disadvantage.
      return { parts, total, loaded: total - (parts.definitions ?? 0) - (parts.protocols ?? 0) + all, exact: report.exact };
    });
  });
}

/** A whole conversation. With all tools loaded nobody has to search, so requests that searched are not counted there. */
export function summed(turns) {
  let total = 0;
  let loaded = 0;
  for (const turn of turns) {
    const requests = requestsOf([turn]);
    if (!requests.length) continue;
    const searches = turn.usage.report.discoveries?.length ?? 0;
    const needed = Math.max(1, requests.length - searches) / requests.length;
    total += requests.reduce((sum, one) => sum + one.total, 0);
    loaded += needed * requests.reduce((sum, one) => sum + one.loaded, 0);
  }
  return { total, loaded, saved: loaded > 0 ? 1 - total / loaded : 0 };
}
