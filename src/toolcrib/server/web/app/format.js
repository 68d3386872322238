// Numbers and times as people read them.

const whole = new Intl.NumberFormat("en");

export const count = (number) => whole.format(Math.round(number ?? 0));

export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

export const percent = (share) => `${share > 0 && share < 0.1 ? (100 * share).toFixed(1) : Math.round(100 * share)} %`;

export const sure = (confidence) => Number(confidence ?? 0).toFixed(2);

/** Dollars with as many digits as say something: $0.00042, $0.31, $12.40. */
export function money(dollars) {
  const size = Math.abs(dollars);
  return `$${size >= 1 || size === 0 ? size.toFixed(2) : size.toPrecision(2)}`;
}

/** A duration with the unit that fits: 0.4 ms, 38 ms, 2.1 s. */
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "";
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return `${(ms / 1000).toFixed(1)} s`;
}

/** How long ago, roughly; the exact time belongs into a title. */
export function ago(moment, now = Date.now()) {
  const seconds = (now - new Date(moment).getTime()) / 1000;
  if (Number.isNaN(seconds)) return "";
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(moment).toLocaleDateString("en", { day: "numeric", month: "short" });
}

export const clock = (moment) => new Date(moment).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });

/** JSON for eyes. Text that is no JSON stays as it is. */
export function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    const parsed = JSON.parse(value);
    return typeof parsed === "object" && parsed !== null ? JSON.stringify(parsed, null, 2) : value;
  } catch {
    return value;
  }
}

/** A value on one line, for a table cell. */
export const inline = (value) => (typeof value === "string" ? value : JSON.stringify(value));
