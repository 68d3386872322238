// The chosen theme, before anything is painted. Without a choice, the system's one holds (`prefers-color-scheme`).
(() => {
  try {
    const chosen = localStorage.getItem("toolcrib.theme");
    if (chosen) document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage may be forbidden; then the system's theme holds.
  }
})();
