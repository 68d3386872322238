// A question before something risky: which thing it is about, what would be different, and, on demand, exactly what would
// be called. The arguments can be changed before the yes, which then is to what is shown.

import { html, useEffect, useRef, useState } from "./html.js";
import { getPreview } from "./api.js";
import { Changes } from "./changes.js";
import { clock, pretty } from "./format.js";
import { Icon } from "./icons.js";
import { SchemaForm } from "./schema_form.js";
import { answer } from "./session.js";
import { showOnSite, state } from "./state.js";
import { useStore } from "./store.js";

const ANSWERED = { approved: "You allowed this.", declined: "You declined this. Nothing was changed.", closed: "This question is closed." };
const VERBS = { create: "Create", delete: "Delete", update: "Change" };

export function Approval({ item }) {
  const running = useStore(state, (value) => value.running);
  const tool = useStore(state, (value) => value.tools?.find((one) => one.name === item.tool));
  const expired = useExpired(item.expires_at);
  const open = !item.answer && !expired;
  const waits = useStore(state, (value) => value.waiting.includes(item.id));
  const preview = usePreview(item.id, open && waits);
  const [editing, setEditing] = useState(false);
  const card = useFocus(open);
  const first = preview?.changes[0];
  const subject = preview?.subject;
  const question = subject ? `${VERBS[first?.action] ?? "Use"} “${subject}”?` : "Allow this?";
  return html`
    <section class="approval" ref=${card} tabindex="-1" data-state=${item.answer ?? (expired ? "expired" : "open")} aria-label=${`Approval of ${item.tool}`}>
      <header>
        <${Icon} name="shield" />
        <h2>${open ? question : (ANSWERED[item.answer] ?? "Nobody answered in time; nothing was changed.")}</h2>
        ${tool && html`<span class="chip risk" data-risk=${tool.risk}>${tool.risk}</span>`}
      </header>
      ${open && first?.picture && html`<img class="approval-picture" src=${`${first.picture}?thumbnail`} alt=${`Picture of ${subject}`} width="96" height="64" />`}
      ${open && preview?.refusal && html`<p class="aside warn"><${Icon} name="warning" size=${14} />As things are, this would fail: ${preview.refusal}</p>`}
      ${open && preview?.changes.length > 0 && html`<${Changes} changes=${preview.changes} future />`}
      ${open && preview?.dry_run && html`<p class="would">${preview.dry_run}</p>`}
      ${editing && open
        ? html`<${SchemaForm} schema=${preview?.parameters ?? {}} initial=${item.arguments} disabled=${running} onSubmit=${(args) => answer(item.id, true, args)} submitLabel="Allow with these" onCancel=${() => setEditing(false)} />`
        : html`<details class="exactly" open=${open && preview !== undefined && !preview?.changes.length}>
            <summary><span class="mono">${item.tool}</span> with all arguments<${Icon} name="chevron" size=${12} /></summary>
            ${tool?.description && html`<p class="would">${tool.description}</p>`}
            <${Arguments} given=${item.arguments} />
          </details>`}
      ${open && html`
        <p class="reason">${item.reason && `Why you are asked: ${item.reason}. `}Your yes holds for exactly this call, once${item.expires_at ? `, until ${clock(item.expires_at)}` : ""}.</p>
        ${!editing && html`<div class="approval-buttons">
          <button class="button primary" disabled=${running} onClick=${() => answer(item.id, true)}><${Icon} name="check" />Allow once</button>
          <button class="button" disabled=${running} onClick=${() => answer(item.id, false)}>Decline</button>
          ${preview && html`<button class="button quiet-button" disabled=${running} onClick=${() => setEditing(true)}>Edit first</button>`}
        </div>`}
      `}
    </section>
  `;
}

function Arguments({ given }) {
  const entries = Object.entries(given ?? {});
  if (!entries.length) return html`<p class="quiet">No arguments.</p>`;
  return html`<dl class="arguments">${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${pretty(value)}</dd></div>`)}</dl>`;
}

/** What the call would change: undefined while it is asked for, null when nobody knows. The site shows the thing. */
function usePreview(id, open) {
  const [preview, setPreview] = useState(undefined);
  useEffect(() => {
    if (!open) return;
    getPreview(state.get().sessionId, id).then(
      (found) => {
        setPreview(found);
        const path = found.changes.find((one) => one.path)?.path;
        if (path) showOnSite(path);
      },
      () => setPreview(null), // the arguments are shown, which is all that is known
    );
  }, [id, open]);
  return preview;
}

/** The card has the focus when it appears while somebody is here, unless they are writing. */
function useFocus(open) {
  const card = useRef(null);
  useEffect(() => {
    const words = document.querySelector("[data-words]");
    if (open && state.get().running && !words?.value) card.current.focus();
  }, []);
  return card;
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
