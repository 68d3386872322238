// Markdown from a model or a tool is text from outside: parsed, then sanitised, and only then put into the page.

import { marked } from "../vendor/marked.js";
import purify from "../vendor/purify.js";

const ALLOWED = {
  // Images only of this server: an address of elsewhere would tell a stranger what was said. No styles, forms, frames.
  ALLOWED_TAGS: ["a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "hr", "i", "img", "li", "ol", "p", "pre", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"],
  ALLOWED_ATTR: ["alt", "href", "src", "start"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|\/(?!\/)|#)/i,
};

purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer");
  }
  if (node.tagName === "IMG" && !/^\/(?!\/)/.test(node.getAttribute("src") ?? "")) node.remove();
});

/** Safe HTML of a Markdown text. */
export function safeHtml(text) {
  return purify.sanitize(marked.parse(text, { gfm: true, breaks: true }), ALLOWED);
}
