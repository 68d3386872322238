// Where in the page we are, kept in the address behind `#`: `#/chat/<id>`, `#/playground?q=...`, `#/catalog/<tool>`.

import { createStore } from "./store.js";

export const route = createStore(read());

function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view = "", ...rest] = path.split("/").map(decodeURIComponent);
  return { view: view || "chat", name: rest.join("/") || null, query: Object.fromEntries(new URLSearchParams(query)) };
}

export function address(parts, query = {}) {
  const asked = new URLSearchParams(query).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${asked ? `?${asked}` : ""}`;
}

export function go(parts, { query = {}, replace = false } = {}) {
  const where = address(parts, query);
  if (replace) {
    history.replaceState(null, "", where);
    route.set(read());
  } else {
    location.hash = where;
  }
}

addEventListener("hashchange", () => route.set(read()));
