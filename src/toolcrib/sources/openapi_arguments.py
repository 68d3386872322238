"""The arguments of an operation: all its parameters and the fields of its body in one object, no two of one name."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.errors import SourceConfigError
from toolcrib.sources.json_parts import items, mapping
from toolcrib.sources.openapi_document import OpenApiDocument
from toolcrib.sources.openapi_schema import SchemaBundle

WHOLE_BODY = "body"
JSON, FORM, TEXT = "application/json", "application/x-www-form-urlencoded", "text/plain"
_NOT_PARAMETERS = {"accept", "content-type", "authorization"}  # OpenAPI says that these are none


@dataclass(frozen=True, slots=True)
class Argument:
    """Where one argument goes: into the path, the query, a header, a cookie, or the body."""

    name: str  # as the model says it
    place: str
    original: str  # as the service calls it
    style: str = ""
    explode: bool = True


@dataclass(frozen=True, slots=True)
class Arguments:
    """What an operation takes."""

    arguments: tuple[Argument, ...]
    schema: Mapping[str, Any]
    body_type: str | None = None  # the kind of content the body has; None without one


def arguments_of(
    document: OpenApiDocument, item: Mapping[str, Any], operation: Mapping[str, Any], hidden: frozenset[str]
) -> Arguments:
    """The arguments of an operation; `hidden` are parameters that carry a key, which no model fills in."""
    bundle = SchemaBundle(document)
    found: list[tuple[Argument, dict[str, Any], bool]] = []
    for parameter in _parameters(document, item, operation):
        name, place = str(parameter["name"]), str(parameter["in"])
        if (place == "header" and name.lower() in _NOT_PARAMETERS) or name.lower() in hidden:
            continue
        style = str(parameter.get("style") or ("form" if place in ("query", "cookie") else "simple"))
        explode = parameter.get("explode")
        argument = Argument("", place, name, style, style == "form" if explode is None else explode is True)
        schema = bundle.schema(_schema_of(parameter))
        if "description" not in schema and parameter.get("description"):
            schema["description"] = str(parameter["description"])
        found.append((argument, schema, place == "path" or parameter.get("required") is True))
    body_type, fields = _body(document, operation, bundle)
    return _merged([*found, *fields], bundle, body_type)


def _parameters(
    document: OpenApiDocument, item: Mapping[str, Any], operation: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Those of the path, and those of the operation, which replace them."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for entry in [*items(item.get("parameters")), *items(operation.get("parameters"))]:
        parameter = document.resolved(entry)
        if "name" in parameter and parameter.get("in") in ("path", "query", "header", "cookie"):
            found[str(parameter["name"]), str(parameter["in"])] = parameter
    return list(found.values())


def _schema_of(parameter: Mapping[str, Any]) -> object:
    """A parameter has a schema, or one kind of content that has one."""
    content = mapping(next(iter(mapping(parameter.get("content")).values()), None))
    return mapping(parameter.get("schema")) or mapping(content.get("schema"))


def _body(
    document: OpenApiDocument, operation: Mapping[str, Any], bundle: SchemaBundle
) -> tuple[str | None, list[tuple[Argument, dict[str, Any], bool]]]:
    body = document.resolved(operation.get("requestBody"))
    content = mapping(body.get("content"))
    if not content:
        return None, []
    kinds = {kind.partition(";")[0].strip().lower(): kind for kind in content}
    chosen = next((kind for kind in kinds if kind == JSON or kind.endswith("+json") or kind == "*/*"), None)
    chosen = chosen or next((kind for kind in (FORM, TEXT) if kind in kinds), None)
    if chosen is None:
        raise SourceConfigError(f"its body is {', '.join(sorted(kinds))}, which cannot be written from arguments.")
    schema = mapping(mapping(content[kinds[chosen]]).get("schema"))
    required = body.get("required") is True
    inner = None if chosen == TEXT else bundle.object_of(schema)
    if inner is None:
        whole = bundle.schema(schema)
        return chosen.replace("*/*", JSON), [(Argument("", WHOLE_BODY, ""), whole, required)]
    fields = [
        (Argument("", WHOLE_BODY, name), bundle.schema(part), required and name in inner["required"])
        for name, part in inner["properties"].items()
        if document.resolved(part).get("readOnly") is not True
    ]
    return chosen.replace("*/*", JSON), fields


def _merged(
    found: list[tuple[Argument, dict[str, Any], bool]], bundle: SchemaBundle, body_type: str | None
) -> Arguments:
    plain = [_plain_name(argument.original) or WHOLE_BODY for argument, _, _ in found]
    clashes = {name for name, number in Counter(plain).items() if number > 1}
    properties: dict[str, Any] = {}
    required: list[str] = []
    arguments: list[Argument] = []
    for (argument, schema, needed), name in zip(found, plain, strict=True):
        # A field of the body keeps its name: it is what the operation is about.
        unique = f"{name}__{argument.place}" if name in clashes and argument.place != WHOLE_BODY else name
        number = 1
        while unique in properties:
            number += 1
            unique = f"{name}_{number}"
        properties[unique] = schema
        required += [unique] if needed else []
        arguments.append(Argument(unique, argument.place, argument.original, argument.style, argument.explode))
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if definitions := bundle.definitions():
        schema["$defs"] = definitions
    return Arguments(tuple(arguments), schema, body_type)


def _plain_name(name: str) -> str:
    """What every provider accepts as the name of an argument."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:60]
