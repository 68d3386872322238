"""`/docs`: the HTTP interface as a page for people, made of `/openapi.json`; nothing of it comes from elsewhere."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, TypeAlias

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse

from toolcrib.server.middleware import LOGIN, OPEN

Document: TypeAlias = dict[str, Any]
SCHEMES: Document = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token that the server was started with, as `Authorization: Bearer ...`. The page sends a "
        "cookie instead, which `POST /api/login` sets. Without a token the server listens on this machine only.",
    }
}

routes = APIRouter()


def describe(app: FastAPI, *, needs_token: bool) -> Document:
    """The OpenAPI document of an app, with how callers show who they are."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        made.setdefault("components", {})["securitySchemes"] = SCHEMES
        made["security"] = [{"token": []}] if needs_token else [{"token": []}, {}]
        for path in (*OPEN, LOGIN):
            for operation in made["paths"].get(path, {}).values():
                operation["security"] = []
        app.openapi_schema = made
    return app.openapi_schema


@routes.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """The page."""
    return HTMLResponse(page_of(request.app.openapi()))


def page_of(document: Document) -> str:
    """The document as HTML."""
    title = escape(f"{document['info']['title']}: HTTP API")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="/static/favicon.svg"><script src="/static/app/theme_first.js"></script>'
        + "".join(f'<link rel="stylesheet" href="/static/style/{name}.css">' for name in ("tokens", "controls", "docs"))
        + f'</head><body><main class="docs"><h1>{title}</h1>{_paragraphs(document["info"]["description"])}'
        f"{_access(document)}{''.join(_groups(document))}"
        '<p class="quiet">For programs: <a href="/openapi.json">/openapi.json</a></p></main></body></html>'
    )


def _access(document: Document) -> str:
    needed = {} not in document["security"]
    text = document["components"]["securitySchemes"]["token"]["description"]
    here = "A token is needed here." if needed else "Here no token is needed."
    return f"<h2>Access</h2><p>{here}</p>{_paragraphs(text)}"


def _groups(document: Document) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append(_operation(document, method.upper(), path, operation))
    for tag, operations in groups.items():
        yield f'<section aria-labelledby="{escape(tag)}"><h2 id="{escape(tag)}">{escape(tag.capitalize())}</h2>'
        yield f"{''.join(operations)}</section>"


def _operation(document: Document, method: str, path: str, operation: Document) -> str:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    parts = [f"<p>{_inline(operation['description'])}</p>"]
    if parameters := operation.get("parameters"):
        items = (f"<li><code>{escape(one['name'])}</code> in the {escape(one['in'])}</li>" for one in parameters)
        parts.append(f"<h3>Parameters</h3><ul>{''.join(items)}</ul>")
    if body:
        parts.append(f"<h3>Body</h3>{_block(body.get('example', _example(document, body['schema'])))}")
    for status, answer in sorted(operation["responses"].items()):
        parts.append(f"<h3>{escape(str(status))}</h3><p>{_inline(answer.get('description', ''))}</p>")
        content = answer.get("content", {})
        if str(status) == "200" and (shape := content.get("application/json", {}).get("schema")):
            parts.append(_block(_example(document, shape)))
        elif str(status) == "200" and (stream := content.get("text/event-stream", {}).get("example")):
            parts.append(_block(stream))
    name = f'<code class="method">{method}</code> <code>{escape(path)}</code>'
    return f"<details><summary>{name}</summary><div>{''.join(parts)}</div></details>"


def _example(document: Document, schema: Mapping[str, Any], depth: int = 0) -> Any:
    """A value that fits a schema, of the examples that it gives."""
    if "$ref" in schema:
        found = document["components"]["schemas"][str(schema["$ref"]).rpartition("/")[2]]
        return _example(document, found, depth + 1) if depth < 6 else {}
    if examples := schema.get("examples"):
        return examples[0]
    if "default" in schema:
        return schema["default"]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _example(document, schema[several][0], depth)
    if "enum" in schema or "const" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    match schema.get("type"):
        case "object":
            return {name: _example(document, one, depth) for name, one in schema.get("properties", {}).items()}
        case "array":
            return [_example(document, schema.get("items", {}), depth)]
        case "string":
            return "2026-11-15T10:00:00Z" if schema.get("format") == "date-time" else "text"
        case "boolean":
            return True
        case "integer" | "number":
            return 1
        case _:
            return None


def _block(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return f'<pre tabindex="0">{escape(text)}</pre>'


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{_inline(' '.join(one.split()))}</p>" for one in text.strip().split("\n\n"))


def _inline(text: str) -> str:
    """Text with its `code` marked."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{one}</code>" if place % 2 else one for place, one in enumerate(pieces))
