// Dark or light: the system's choice until the user makes one.

import { remember } from "./settings.js";

const systemDark = matchMedia("(prefers-color-scheme: dark)");

export function currentTheme() {
  return document.documentElement.dataset.theme || (systemDark.matches ? "dark" : "light");
}

export function toggleTheme() {
  const theme = currentTheme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  remember("theme", theme);
  return theme;
}
