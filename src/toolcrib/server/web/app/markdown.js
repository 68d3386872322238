// Markdown from a model is text from outside: parsed, then sanitised, and only then put into the page.

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

// A path of the demo's site becomes a link; the chat opens it beside itself.
const sitePath = {
  name: "sitePath",
  level: "inline",
  start: (text) => text.indexOf("/site"),
  tokenizer(text) {
    const found = /^\/site(?:\/(?:[\w\-./?=]*\w)?)?(?!\w)/.exec(text);
    return found ? { type: "sitePath", raw: found[0] } : undefined;
  },
  renderer: (token) => `<a href="${token.raw}">${token.raw}</a>`, // only characters that the pattern lets through
};

// HTML in a text is shown as what it is. So nothing but our own tags reaches the sanitiser, which is the second lock.
const escaped = (text) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

marked.use({ extensions: [sitePath], renderer: { html: (token) => escaped(token.text) } });

/** Safe HTML of a Markdown text. */
export function safeHtml(text) {
  return purify.sanitize(marked.parse(text, { gfm: true, breaks: true }), ALLOWED);
}
