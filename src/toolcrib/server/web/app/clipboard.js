// Copy, and say so for a moment on the button that did it.

const SAID_MS = 1200;

export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyByHand(text);
  }
  button.dataset.copied = "true";
  setTimeout(() => delete button.dataset.copied, SAID_MS);
}

// The clipboard is only open to secure pages: a server in the local network without TLS is none.
function copyByHand(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
