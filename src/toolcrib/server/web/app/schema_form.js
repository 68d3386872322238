// A form out of a JSON schema: a field for each parameter, of the kind that fits; what is nested is written as JSON.

import { html, useState } from "./html.js";
import { fieldKind, fieldsOf, readField, typeLabel, written } from "./schema_fields.js";

export function SchemaForm({ schema, initial = {}, disabled, onSubmit, submitLabel, onCancel }) {
  const fields = fieldsOf(schema);
  const [values, setValues] = useState(() => written(fields, initial));
  const [wrong, setWrong] = useState({});
  const submit = (event) => {
    event.preventDefault();
    const args = {};
    const problems = {};
    for (const field of fields) {
      try {
        const value = readField(field, values[field.name]);
        if (value !== undefined) args[field.name] = value;
      } catch (error) {
        problems[field.name] = error.message;
      }
    }
    setWrong(problems);
    if (!Object.keys(problems).length) onSubmit(args);
  };
  if (!fields.length && !submitLabel) return html`<p class="quiet">It takes no parameters.</p>`;
  return html`
    <form class="schema-form" onSubmit=${submit} noValidate>
      ${fields.map((field) => html`<${Field} key=${field.name} field=${field} value=${values[field.name]} problem=${wrong[field.name]} disabled=${disabled} onChange=${(value) => setValues({ ...values, [field.name]: value })} />`)}
      ${submitLabel && html`<div class="approval-buttons"><button class="button primary" disabled=${disabled}>${submitLabel}</button>${onCancel && html`<button type="button" class="button" disabled=${disabled} onClick=${onCancel}>Back</button>`}</div>`}
    </form>
  `;
}

function Field({ field, value, problem, disabled, onChange }) {
  const id = `field-${field.name}`;
  const shared = { id, disabled, "aria-describedby": `${id}-note`, "aria-invalid": problem ? "true" : null };
  const kind = fieldKind(field);
  return html`
    <div class="field">
      <label for=${id}><span class="mono">${field.name}</span><span class="field-type">${typeLabel(field)}${field.required ? ", required" : ""}</span></label>
      ${kind === "choice" && html`<select ...${shared} value=${value ?? ""} onChange=${(event) => onChange(event.currentTarget.value)}>
        <option value="">${field.required ? "choose" : `default${field.schema.default !== undefined ? `: ${field.schema.default}` : ""}`}</option>
        ${field.choices.map((choice) => html`<option value=${String(choice)}>${String(choice)}</option>`)}
      </select>`}
      ${kind === "number" && html`<input ...${shared} type="text" inputmode="decimal" placeholder=${placeholder(field)} value=${value ?? ""} onInput=${(event) => onChange(event.currentTarget.value)} />`}
      ${kind === "text" && html`<input ...${shared} type="text" dir="auto" placeholder=${placeholder(field)} value=${value ?? ""} onInput=${(event) => onChange(event.currentTarget.value)} />`}
      ${kind === "json" && html`<textarea ...${shared} rows="3" spellcheck="false" class="mono" placeholder="JSON" value=${value ?? ""} onInput=${(event) => onChange(event.currentTarget.value)}></textarea>`}
      <p class="field-note" id="${id}-note">${problem ? html`<span class="field-problem">${problem}</span>` : (field.schema.description ?? "")}</p>
    </div>
  `;
}

const placeholder = (field) => (field.schema.default !== undefined && field.schema.default !== null ? String(field.schema.default) : "");
