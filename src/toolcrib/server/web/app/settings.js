// What this browser remembers of its user: theme and open panes. Storage may be forbidden; then nothing is remembered.

const PREFIX = "toolcrib.";

export function remembered(name, otherwise) {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? otherwise : text;
  } catch {
    return otherwise;
  }
}

export function forget(name) {
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // Nothing was remembered, either.
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // The page works without.
  }
}
