// What tools take before anything was said, as `toolcrib tokens` counts it: the figure of an empty conversation.

import { getTokens } from "./api.js";
import { useEffect, useState } from "./html.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

let asked = null; // the same for every conversation: once a visit is enough

/** A request that holds nothing but tools, for the chart; null while it is not known. */
export function useStart(wanted) {
  const mode = useStore(state, (value) => value.app?.mode);
  const [table, setTable] = useState(null);
  useEffect(() => {
    if (!wanted || !mode) return;
    asked ??= getTokens().catch(() => (asked = null));
    asked.then(setTable);
  }, [wanted, Boolean(mode)]);
  const direct = table?.rows.find((row) => row.mode === "direct");
  const own = table?.rows.find((row) => row.mode === mode) ?? table?.rows.find((row) => row.mode === table.auto.mode);
  if (!own || !direct?.tokens) return null;
  return { parts: { definitions: own.tokens }, total: own.tokens, loaded: direct.tokens, exact: true, label: "start" };
}
