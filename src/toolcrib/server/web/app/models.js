// Which model the next message goes to: the app's own, or another one that the server offers.

import { getModels } from "./api.js";
import { html } from "./html.js";
import { state } from "./state.js";
import { createStore, useStore } from "./store.js";

export const models = createStore({ offered: [], chosen: null, looking: false }); // chosen: null is the app's own
const LOOK = "?"; // no model has this name
const GROUPS = [
  ["key", "By key"],
  ["local", "On this machine"],
  ["rules", "Without a model"],
];

/** What can be chosen; model servers on this machine are asked only when the user wants it. */
export async function loadModels({ local = false } = {}) {
  models.set({ looking: local });
  try {
    const { models: offered } = await getModels(local);
    models.set({ offered });
    if (local && !offered.some((one) => one.by === "local")) {
      const hint = "Start Ollama, LM Studio, llama.cpp or vLLM, then look again.";
      state.set({ notice: { message: "No model server answers on this machine.", hint } });
    }
  } catch (error) {
    if (local) state.set({ notice: { message: error.message, hint: error.hint } });
  } finally {
    models.set({ looking: false });
  }
}

export const chosenModel = () => models.get().chosen;

export function ModelPicker({ own }) {
  const { offered, chosen, looking } = useStore(models);
  if (!offered.length) return html`<span class="chip mono" title="The model that thinks">${own}</span>`;
  const pick = (event) => {
    const name = event.target.value;
    event.target.value = chosen ?? own;
    if (name === LOOK) loadModels({ local: true });
    else models.set({ chosen: name === own ? null : name });
  };
  const others = offered.filter((one) => one.name !== own);
  const group = ([by, label]) => {
    const inside = others.filter((one) => one.by === by);
    return inside.length > 0 && html`<optgroup label=${label}>
      ${inside.map((one) => html`<option value=${one.name} title=${one.note}>${one.name}</option>`)}
    </optgroup>`;
  };
  return html`
    <select class="chip mono" aria-label="Model" title="The model that thinks" value=${chosen ?? own} onChange=${pick}>
      <option value=${own}>${own}</option>
      ${GROUPS.map(group)}
      <option value=${LOOK} disabled=${looking}>${looking ? "Looking…" : "Look on this machine…"}</option>
    </select>
  `;
}
