// A conversation as a Markdown file: what was said, what was searched and called, what it cost.

import { count, duration, pretty, sure } from "./format.js";
import { state } from "./state.js";

export function exportConversation() {
  const { turns, title, sessionId } = state.get();
  const file = new Blob([asMarkdown(turns, title)], { type: "text/markdown" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `toolcrib-${sessionId ?? "conversation"}.md`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function asMarkdown(turns, title) {
  const parts = turns.flatMap((turn) => [`## ${turn.user}`, ...turn.items.map(line), used(turn.usage)]);
  return [`# ${title || "Conversation"}`, ...parts].filter(Boolean).join("\n\n") + "\n";
}

function line(item) {
  switch (item.kind) {
    case "text":
      return item.text;
    case "discovery":
      return `> searched “${item.query}” → ${item.tools.join(", ") || "nothing fits"} (${duration(item.tookMs)}, sure ${sure(item.confidence)})`;
    case "call":
      return `> called \`${item.name}\`\n\n${fenced(pretty(item.arguments))}\n\n${fenced(pretty(item.text ?? ""))}`;
    case "approval":
      return `> asked to allow \`${item.tool}\`: ${item.answer ?? "not answered"}`;
    case "warning":
      return `> warning: ${item.text}`;
    case "failed":
      return `> failed: ${item.message} ${item.hint}`;
    default:
      return "";
  }
}

// Longer than any fence inside, so that a result cannot end its own block.
function fenced(text) {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

const used = (usage) => (usage?.report?.tokens ? `*${count(usage.report.tokens.total)} tokens, ${duration(usage.seconds * 1000)}*` : "");
