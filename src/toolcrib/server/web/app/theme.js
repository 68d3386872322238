// Dark or light: the system's choice until the user makes one. The site beside the chat follows.

import { remember } from "./settings.js";
import { createStore } from "./store.js";

const systemDark = matchMedia("(prefers-color-scheme: dark)");

export const theme = createStore({ name: current() });

function current() {
  return document.documentElement.dataset.theme || (systemDark.matches ? "dark" : "light");
}

export function toggleTheme() {
  const name = current() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = name;
  remember("theme", name);
  theme.set({ name });
}

systemDark.addEventListener("change", () => theme.set({ name: current() }));
