// A value that components can watch. Nothing else changes over time in this page.

import { useEffect, useState } from "./html.js";

export function createStore(initial) {
  let value = initial;
  const watchers = new Set();
  return {
    get: () => value,
    /** Take a new value: an object with the fields that change, or a function from the old value to such an object. */
    set(change) {
      value = { ...value, ...(typeof change === "function" ? change(value) : change) };
      for (const watcher of [...watchers]) watcher(value);
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

/** What `select` gives of a store, and again when that changes. */
export function useStore(store, select = (value) => value) {
  const [selected, setSelected] = useState(() => select(store.get()));
  useEffect(() => {
    const look = (value) => setSelected(() => select(value));
    look(store.get()); // it may have changed between render and effect
    return store.watch(look);
  }, [store]);
  return selected;
}
