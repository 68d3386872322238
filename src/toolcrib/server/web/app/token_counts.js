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

/** A whole conversation. With all tools loaded nobody has to search, so requests that searched are not counted there.
 *
 * `dollars` is what that saves at the list price, null where it is not known. To our disadvantage, all tools are taken
 * to be in the provider's prompt cache after the first request, and nothing of ours ever.
 */
export function summed(turns) {
  let total = 0;
  let loaded = 0;
  let requests = 0;
  let dollars = 0;
  for (const turn of turns) {
    const sent = requestsOf([turn]);
    if (!sent.length) continue;
    const { discoveries, dollars_per_million: price } = turn.usage.report;
    const needed = Math.max(1, sent.length - (discoveries?.length ?? 0)) / sent.length;
    const ours = sent.reduce((sum, one) => sum + one.total, 0);
    const theirs = needed * sent.reduce((sum, one) => sum + one.loaded, 0);
    const each = requests === 0 ? price?.input : (price?.cached ?? price?.input);
    dollars = dollars === null || typeof each !== "number" ? null : dollars + ((theirs - ours) * each) / 1e6;
    total += ours;
    loaded += theirs;
    requests += sent.length;
  }
  return { total, loaded, requests, saved: loaded > 0 ? 1 - total / loaded : 0, dollars: requests ? dollars : null };
}
