// Server-sent events out of a `fetch` response. `EventSource` cannot POST, so the few lines of the format stand here.

/** The events of a response, as `{id, type, data}`. Ends with the stream; throws when the connection breaks. */
export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      waiting += value.replaceAll("\r\n", "\n");
      const blocks = waiting.split("\n\n");
      waiting = blocks.pop(); // the last one is not complete yet
      for (const block of blocks) {
        const event = parsed(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // also when the caller stopped listening
  }
}

function parsed(block) {
  const fields = { id: null, event: "message", data: [] };
  for (const line of block.split("\n")) {
    if (line.startsWith(":")) continue; // a comment keeps the connection open
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") fields.data.push(text);
    else if (name in fields) fields[name] = text;
  }
  if (!fields.data.length) return null;
  return { id: fields.id, type: fields.event, data: JSON.parse(fields.data.join("\n")) };
}
