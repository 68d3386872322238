// What happens behind the talk: tokens against "all tools loaded", the tools on the wall, memory, time.

import { html } from "./html.js";
import { ActiveTools } from "./active_tools.js";
import { Memory } from "./memory.js";
import { Pegboard } from "./pegboard.js";
import { TokenPanel } from "./token_panel.js";
import { Timeline } from "./timeline.js";

export function Inspector({ hidden }) {
  return html`
    <aside class="inspector" aria-label="Inspector" hidden=${hidden} tabindex="0">
      <${TokenPanel} />
      <${Pegboard} />
      <${Timeline} />
      <${Memory} />
      <${ActiveTools} />
    </aside>
  `;
}
