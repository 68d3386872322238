// Text of the model as Markdown, while it is still being written too.

import { html, useMemo } from "./html.js";
import { safeHtml } from "./markdown.js";

export function Markdown({ text, streaming = false }) {
  const safe = useMemo(() => safeHtml(text), [text]);
  // The only place where HTML is made of text; `safeHtml` has sanitised it.
  return html`<div class="prose ${streaming ? "streaming" : ""}" dir="auto" dangerouslySetInnerHTML=${{ __html: safe }}></div>`;
}
