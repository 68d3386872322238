// Keys that work everywhere: the palette, stop, and a slash that goes to the words.

import { openPalette, paletteIsOpen } from "./palette.js";
import { closeDrawer, panes } from "./panes.js";
import { stop } from "./session.js";

const WRITING = "input, textarea, select, [contenteditable]";

export function listenToKeys() {
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
    } else if (event.key === "Escape" && !paletteIsOpen()) {
      if (panes.get().drawer) closeDrawer();
      else stop();
    } else if (event.key === "/" && !event.target.closest(WRITING)) {
      const words = document.querySelector("[data-words]");
      if (words) {
        event.preventDefault();
        words.focus();
      }
    }
  });
}
