// Reading a JSON schema for a form, and a form for arguments. Pure.

/** The parameters of a tool, the required ones first. */
export function fieldsOf(schema) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, raw]) => {
    const own = resolved(raw, schema);
    return { name, schema: own, type: typeOf(own), choices: choicesOf(own), required: required.has(name) };
  });
  return fields.sort((a, b) => Number(b.required) - Number(a.required));
}

export function fieldKind(field) {
  if (field.choices) return "choice";
  if (field.type === "integer" || field.type === "number") return "number";
  return field.type === "string" ? "text" : "json";
}

export const typeLabel = (field) => (field.schema.enum ? "choice" : (field.type ?? "any"));

/** The argument that was written; undefined leaves it out. Throws what is wrong with it. */
export function readField(field, text) {
  if (text === undefined || text === "") {
    if (field.required) throw new Error("This one is needed.");
    return undefined;
  }
  if (field.choices) return field.choices.find((choice) => String(choice) === text);
  if (field.type === "string") return text;
  if (field.type === "integer" || field.type === "number") {
    const number = Number(text);
    if (Number.isNaN(number)) throw new Error("This should be a number.");
    return number;
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("This is not valid JSON.");
  }
}

/** Arguments as the fields of a form hold them. */
export function written(fields, args) {
  const text = (field, value) => (fieldKind(field) === "json" ? JSON.stringify(value, null, 2) : String(value));
  return Object.fromEntries(fields.filter((field) => args[field.name] !== undefined && args[field.name] !== null).map((field) => [field.name, text(field, args[field.name])]));
}

function resolved(schema, root) {
  if (typeof schema.$ref === "string" && schema.$ref.startsWith("#/")) {
    const target = schema.$ref.slice(2).split("/").reduce((at, key) => at?.[key], root);
    return { ...(target ?? {}), ...schema };
  }
  // "or null" is how an optional parameter is written; the rest of it is what the user fills in.
  const others = (schema.anyOf ?? schema.oneOf ?? []).filter((one) => one.type !== "null");
  return others.length === 1 ? { ...resolved(others[0], root), ...schema } : schema;
}

function typeOf(schema) {
  const types = [schema.type].flat().filter((type) => type && type !== "null");
  return types.length === 1 ? types[0] : undefined;
}

function choicesOf(schema) {
  if (Array.isArray(schema.enum)) return schema.enum;
  return typeOf(schema) === "boolean" ? [true, false] : null;
}
