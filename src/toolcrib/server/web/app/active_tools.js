// The tools that the model sees now, in the order they were found, each with its protocol.

import { html, useEffect, useState } from "./html.js";
import { getTool } from "./api.js";
import { Panel } from "./panel.js";
import { address } from "./route.js";
import { state } from "./state.js";
import { useStore } from "./store.js";

const known = new Map(); // details by name: a protocol does not change while the page is open

export function ActiveTools() {
  const active = useStore(state, (value) => value.active);
  return html`
    <${Panel} title="In hand" note=${active.length ? "with their protocols" : ""}>
      ${active.length === 0
        ? html`<p class="quiet">Nothing yet. The model starts with the discovery tool alone.</p>`
        : html`<ul class="active-tools">${active.map((name) => html`<${ActiveTool} key=${name} name=${name} />`)}</ul>`}
    <//>
  `;
}

function ActiveTool({ name }) {
  const [tool, setTool] = useState(known.get(name) ?? null);
  useEffect(() => {
    if (known.has(name)) return;
    getTool(name).then(
      (found) => {
        known.set(name, found);
        setTool(found);
      },
      () => {}, // the name alone is shown
    );
  }, [name]);
  const notes = protocolNotes(tool?.protocol);
  return html`
    <li class="active-tool">
      <p><a class="mono" href=${address(["catalog", name])}>${name}</a>${tool && tool.risk !== "safe" && html`<span class="chip risk" data-risk=${tool.risk}>${tool.risk}</span>`}</p>
      ${notes.length > 0 && html`<dl class="protocol">${notes.map(([label, text]) => html`<div><dt>${label}</dt><dd>${text}</dd></div>`)}</dl>`}
    </li>
  `;
}

/** The notes of a protocol that say something, in the order in which a model reads them. */
export function protocolNotes(protocol) {
  return ["before", "after", "next", "gotcha"].map((label) => [label, protocol?.[label]]).filter(([, text]) => text);
}
