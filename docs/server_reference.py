"""The reference pages of the server, from the code: what `docs/generate.py` writes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from toolcrib.agent.crib import Crib
from toolcrib.catalog.catalog import Catalog
from toolcrib.server import schemas
from toolcrib.server.app import create_app
from toolcrib.server.metrics import Metrics
from toolcrib.server.services import Served
from toolcrib.stores.sqlite.store import SqliteStore

_HTTP = """\
# HTTP

What `toolcrib serve` answers. The same as a document for programs is at `/openapi.json`; the guide is
[The web page](../guides/web.md).

- Bodies are JSON, at most 1 MiB. Errors are `{"error": message, "hint": hint or null}` with a fitting status.
- With a token, every request needs `Authorization: Bearer TOKEN`, or the cookie that `/?token=TOKEN` sets; 401 without.
  Only `/health`, `/health/ready` and `/static/` are open. Sessions of another tenant are missing (404).
- 403: another page asks (`Origin`), or the server is called by a name that is not its own (`Host`). 413: too large.
  429: too often; `Retry-After` says how long to wait. 503: too many runs at once, or the server is about to end.

## Event streams

What happens in a run comes as server-sent events: `event` is the type, `data` the [event](events.md) as JSON, `id` a
number that grows. A run belongs to the server: it goes on when the connection drops. Listen again with `Last-Event-ID`
(`GET /api/sessions/{session}/messages`), and you get what was missed and then what happens. Pieces of text of a run
that is over are not kept; its `answered` has the whole text. A stream ends with its run; a `failed` that says
`Stopped.` tells of a stop. While nothing happens, a comment keeps the connection open.
"""

_METRICS = """\
# Metrics

What `/metrics` tells Prometheus; with a token, it needs it like everything else (`authorization` in the scrape config).
Beside these stand those of the process (`process_*`, `python_info`).

| name | kind | labels | |
|---|---|---|---|
"""
_MORE_ON_METRICS = """
`tool` is the name of a tool in the catalog, of at most 500 of them; whatever else a model calls is `other`. `arm` is
the part of the search that decided: `exact`, `lexical`, `blended`, `dense` or `none`. `request_type` is A (no search),
B (one) or C (several). `part` is what tokens were spent on: `prompt`, `definitions`, `protocols`, `memory`, `history`.

## Spans

With `TOOLCRIB_TRACES` set to `otlp` (needs `pip install opentelemetry-exporter-otlp-proto-http`, and goes where
`OTEL_EXPORTER_OTLP_ENDPOINT` says) or `console`, runs are traced by OpenTelemetry's GenAI names; a `traceparent` header
puts them into the caller's trace. `TOOLCRIB_TRACE_CONTENT=1` adds
prompts, arguments and results; without it there are none.

| span | what we add |
|---|---|
| `invoke_agent NAME` | `session.id`; `gen_ai.conversation.id` is the session, too |
| `chat MODEL` | the same |
| `execute_tool TOOL` | the same |
| `execute_tool tool_search` | also `toolcrib.discovery.` `tools`, `activated`, `confidence`, `arm`, `search_ms` |

With content, `toolcrib.discovery.query` is there, too.

## Logs

`toolcrib serve` writes one JSON object a line to stderr: `at`, `level`, `logger`, `message`, and where they are known
`session`, `trace`, `span` and `error`; of requests also `method`, `path`, `status` and `ms`.
"""


def metrics_page() -> str:
    """Every metric, with its labels."""
    rows = [
        f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {about} |"
        for name, kind, labels, about in Metrics(is_tool=lambda name: False).described
    ]
    return _METRICS + "\n".join(rows) + "\n" + _MORE_ON_METRICS


def http_page() -> str:
    """Every operation, and the schemas they take and give."""
    served = Served(crib=Crib(Catalog()), store=SqliteStore(None))
    document = create_app(served).openapi()
    lines = [_HTTP, *_operations(document), "## Shapes", "", *_schemas(document)]
    return "\n".join(lines).rstrip() + "\n"


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    by_tag: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            by_tag.setdefault(said["tags"][0], []).append((method.upper(), path, said))
    for tag, operations in by_tag.items():
        yield f"## {tag}\n"
        for method, path, said in operations:
            yield f"### `{method} {path}`\n"
            yield " ".join(said["description"].split()) + "\n"
            if named := [f"`{one['name']}` ({one['in']})" for one in said.get("parameters", ()) if one["in"] != "path"]:
                yield f"Takes {', '.join(named)}.\n"
            if body := _shape(said.get("requestBody", {})):
                yield f"Body: `{body}`.\n"
            yield f"Answers: {'; '.join(_answers(said['responses']))}.\n"


def _answers(responses: Mapping[str, Any]) -> Iterator[str]:
    for status, said in sorted(responses.items()):
        shape = _shape(said)
        if status == "422":
            continue
        if status.startswith("2"):
            yield f"{status} `{shape}`" if shape else f"{status} {_lowered(said['description'])}"
        else:
            yield f"{status} {_lowered(said['description'])}"


def _lowered(sentence: str) -> str:
    text = " ".join(sentence.split()).rstrip(".")
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _shape(said: Mapping[str, Any]) -> str:
    """The name of what a body or an answer holds."""
    content: dict[str, Any] = said.get("content", {})
    return _type(content["application/json"]["schema"]) if "application/json" in content else ""


def _schemas(document: Mapping[str, Any]) -> Iterator[str]:
    for name, one in sorted(document["components"]["schemas"].items()):
        if not hasattr(schemas, name):  # AG-UI's own
            continue
        yield f"### {name}\n"
        yield " ".join(str(one.get("description", "")).split()) + "\n"
        yield "| field | type | example | |\n|---|---|---|---|"
        for field, said in one["properties"].items():
            examples = said.get("examples")
            example = f"`{json.dumps(examples[0], ensure_ascii=False)}`" if examples else ""
            yield f"| `{field}` | {_type(said)} | {example} | {said.get('description', '')} |".replace("|  |", "| |")
        yield ""


def _type(said: Mapping[str, Any]) -> str:
    if "$ref" in said:
        return str(said["$ref"]).rpartition("/")[2]
    if "anyOf" in said:
        return " or ".join(_type(cast("Mapping[str, Any]", one)) for one in said["anyOf"])
    if said.get("type") == "array":
        return f"list of {_type(said['items'])}"
    if "enum" in said or "const" in said:
        return " or ".join(f'"{one}"' for one in said.get("enum", [said.get("const")]))
    return str(said.get("format") or said.get("type", "any"))
