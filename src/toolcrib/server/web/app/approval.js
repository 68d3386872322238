// A question before something risky: which tool, why it asks, and exactly what it would be called with. Nothing is hidden.

import { html, useEffect, useState } from "./html.js";
import { clock, pretty } from "./format.js";
import { Icon } from "./icons.js";
import { answer } from "./session.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

const ANSWERED = { approved: "You allowed this.", declined: "You declined this. Nothing was changed.", closed: "This question is closed." };

export function Approval({ item }) {
  const running = useStore(state, (value) => value.running);
  const tool = useStore(state, (value) => value.tools?.find((one) => one.name === item.tool));
  const expired = useExpired(item.expires_at);
  const open = !item.answer && !expired;
  return html`
    <section class="approval" data-state=${item.answer ?? (expired ? "expired" : "open")} aria-label=${`Approval of ${item.tool}`}>
      <header>
        <${Icon} name="shield" />
        <h3>${open ? "Allow this?" : (ANSWERED[item.answer] ?? "Nobody answered in time; nothing was changed.")}</h3>
        ${tool && html`<span class="chip risk" data-risk=${tool.risk}>${tool.risk}</span>`}
      </header>
      <p class="would"><span class="mono">${item.tool}</span>${tool?.description && html`<span>${tool.description}</span>`}</p>
      <${Arguments} given=${item.arguments} />
      ${open && html`
        <p class="reason">${item.reason && `Why you are asked: ${item.reason}. `}Your yes holds for exactly this call, once${item.expires_at ? `, until ${clock(item.expires_at)}` : ""}.</p>
        <div class="approval-buttons">
          <button class="button primary" disabled=${running} onClick=${() => answer(item.id, true)}><${Icon} name="check" />Allow once</button>
          <button class="button" disabled=${running} onClick=${() => answer(item.id, false)}>Decline</button>
        </div>
      `}
    </section>
  `;
}

function Arguments({ given }) {
  const entries = Object.entries(given ?? {});
  if (!entries.length) return html`<p class="quiet">No arguments.</p>`;
  return html`<dl class="arguments">${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${pretty(value)}</dd></div>`)}</dl>`;
}

function useExpired(moment) {
  const left = moment ? new Date(moment).getTime() - Date.now() : Infinity;
  const [expired, setExpired] = useState(left <= 0);
  useEffect(() => {
    if (expired || left > 2 ** 31 - 1) return undefined;
    const timer = setTimeout(() => setExpired(true), left);
    return () => clearTimeout(timer);
  }, [moment]);
  return expired;
}
