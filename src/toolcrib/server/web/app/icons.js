// Line icons, drawn here: 16 by 16, in the colour of the text around them. Decoration; the label is on the button.

import { html } from "./html.js";

const PATHS = {
  send: "M8 13V3M3.5 7.5 8 3l4.5 4.5",
  stop: "M4.5 4.5h7v7h-7z",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14",
  tool: "M10.2 2.2a3.6 3.6 0 0 0-3.4 4.9L2.3 11.6a1.5 1.5 0 1 0 2.1 2.1l4.5-4.5a3.6 3.6 0 0 0 4.7-4.5l-2 2-1.9-.4-.4-1.9 2-2a3.6 3.6 0 0 0-1.1-.2Z",
  shield: "M8 1.8 13 3.6v4c0 3.2-2.1 5.4-5 6.6-2.9-1.2-5-3.4-5-6.6v-4L8 1.8Z",
  plus: "M8 3v10M3 8h10",
  copy: "M6 5.5V3.2c0-.4.3-.7.7-.7h6.1c.4 0 .7.3.7.7v6.1c0 .4-.3.7-.7.7h-2.3M3.2 5.5h6.1c.4 0 .7.3.7.7v6.1c0 .4-.3.7-.7.7H3.2a.7.7 0 0 1-.7-.7V6.2c0-.4.3-.7.7-.7Z",
  check: "m3 8.5 3.2 3.2L13 4.8",
  cross: "m4 4 8 8M12 4l-8 8",
  retry: "M13 8a5 5 0 1 1-1.5-3.6M13 2.2v2.6h-2.6",
  download: "M8 2.5v7.6M4.8 7.2 8 10.4l3.2-3.2M3 13.2h10",
  trash: "M3 4.3h10M6.3 4.3V2.8h3.4v1.5M4.5 4.3l.5 8.9h6l.5-8.9",
  sun: "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M13.4 9.6A5.6 5.6 0 0 1 6.4 2.6a5.6 5.6 0 1 0 7 7Z",
  chevron: "m6 4 4 4-4 4",
  reload: "M13 8a5 5 0 1 1-1.5-3.6M13 2.2v2.6h-2.6",
  external: "M9.5 2.8h3.7v3.7M13 3 7.5 8.5M6.5 3.5H3.7c-.4 0-.7.3-.7.7v8.1c0 .4.3.7.7.7h8.1c.4 0 .7-.3.7-.7V9.5",
  chat: "M2.8 3.2h10.4v7.6H7.4l-3 2.4v-2.4H2.8Z",
  pulse: "M1.8 8.5h2.9l1.7-5 2.9 9 1.8-4h3.1",
  grid: "M2.8 2.8h4v4h-4zM9.2 2.8h4v4h-4zM2.8 9.2h4v4h-4zM9.2 9.2h4v4h-4z",
  window: "M2.3 3.2h11.4v9.6H2.3zM2.3 6h11.4",
  pencil: "m3 13 .7-3L10.5 3.2l2.3 2.3L6 12.3ZM9 4.7 11.3 7",
  up: "M5.2 13.2V7.4L8 2.2c1 0 1.7.8 1.5 1.8l-.5 2.4h3.3c.8 0 1.4.7 1.2 1.5l-.9 4.2c-.1.7-.7 1.1-1.3 1.1ZM2.4 7.4h2.8v5.8H2.4Z",
  down: "M10.8 2.8v5.8L8 13.8c-1 0-1.7-.8-1.5-1.8L7 9.6H3.7c-.8 0-1.4-.7-1.2-1.5l.9-4.2c.1-.7.7-1.1 1.3-1.1ZM13.6 8.6h-2.8V2.8h2.8Z",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
  warning: "M8 2.4 14.2 13H1.8L8 2.4ZM8 6.6v3M8 11.3h.01",
};

export function Icon({ name, size = 16 }) {
  return html`<svg class="icon" width=${size} height=${size} viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}
