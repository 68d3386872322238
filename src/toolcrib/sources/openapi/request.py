"""The arguments of an operation: all its parameters and the fields of its body in one object, no two of one name."""

import base64
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote, urlencode

from toolcrib.errors import SourceConfigError
from toolcrib.sources.openapi.document import OpenApiDocument, SchemaBundle
from toolcrib.sources.web import origin_of
from toolcrib.tools.result import as_json
from toolcrib.tools.schema import items, mapping

WHOLE_BODY = "body"
JSON, FORM, TEXT = "application/json", "application/x-www-form-urlencoded", "text/plain"
_MOST_RESULT_CHARACTERS = 50_000  # of the schema of a result, of which a line is shown
_NOT_PARAMETERS = {"accept", "content-type", "authorization"}  # OpenAPI says that these are none


@dataclass(frozen=True, slots=True)
class Argument:
    """Where one argument goes: into the path, the query, a header, a cookie, or the body."""

    name: str  # as the model writes it
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
    """The arguments of an operation; `hidden` are parameters for a key, which no model fills in."""
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


def result_schema(document: OpenApiDocument, operation: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema of what an operation answers when it succeeds; None if the document does not say, or says too much."""
    responses = mapping(operation.get("responses"))
    codes = [*sorted(code for code in map(str, responses) if code.startswith("2")), "default"]
    for response in (document.resolved(responses.get(code)) for code in codes):
        content = mapping(response.get("content"))
        kind = next((kind for kind in content if kind.partition(";")[0].strip().lower().endswith("json")), None)
        if kind is None:
            continue
        bundle = SchemaBundle(document)
        try:
            schema = bundle.schema(mapping(content[kind]).get("schema"))
            definitions = bundle.definitions(_MOST_RESULT_CHARACTERS)
        except SourceConfigError:  # no reason to do without the tool
            return None
        if not schema or len(as_json(schema)) > _MOST_RESULT_CHARACTERS:
            return None
        return {**schema, "$defs": definitions} if definitions else schema
    return None


def _merged(
    found: list[tuple[Argument, dict[str, Any], bool]], bundle: SchemaBundle, body_type: str | None
) -> Arguments:
    plain = [_plain_name(argument.original) or WHOLE_BODY for argument, _, _ in found]
    clashes = {name for name, number in Counter(plain).items() if number > 1}
    properties: dict[str, Any] = {}
    required: list[str] = []
    arguments: list[Argument] = []
    for (argument, schema, needed), name in zip(found, plain, strict=True):
        # Fields of the body keep their names: they are what the operation is about.
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
    """The name of an argument in letters that every provider accepts."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:60]


# Builds the request from arguments: each in its place, in the style of the operation.

_SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """How a key is sent. The key itself is never shown."""

    kind: str  # "bearer", "basic", "header", "query" or "cookie"
    name: str = ""  # of the header, the parameter or the cookie
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApiRequest:
    """A request to send. Its address and headers may contain a key."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)


def request_of(
    method: str, base_url: str, path: str, takes: Arguments, given: Mapping[str, Any], credential: Credential | None
) -> OpenApiRequest:
    """The request for a call. Raises `ValueError` for a value that cannot be written where it belongs."""
    headers: dict[str, str] = {"accept": "application/json, text/*;q=0.9, */*;q=0.5"}
    query: list[tuple[str, str]] = []
    cookies: list[tuple[str, str]] = []
    fields: dict[str, Any] = {}
    whole: object = None
    for argument in takes.arguments:
        if argument.name not in given or (given[argument.name] is None and argument.place != WHOLE_BODY):
            continue
        value = given[argument.name]
        match argument.place:
            case "path":
                path = path.replace(f"{{{argument.original}}}", _step(argument.name, _joined(value, argument)))
            case "query":
                query += _pairs(argument, value)
            case "header":
                headers[argument.original] = _one_line(_joined(value, argument))
            case "cookie":
                cookies.append((argument.original, quote(_joined(value, argument))))
            case _ if argument.original:
                fields[argument.original] = value
            case _:
                whole = value
    content = _content(takes, fields, whole)
    if content is not None:
        headers["content-type"] = takes.body_type or ""
    if credential is not None:
        _sign(credential, headers, query, cookies)
    if cookies:
        headers["cookie"] = "; ".join(f"{name}={value}" for name, value in cookies)
    ending = f"{'&' if '?' in path else '?'}{urlencode(query, quote_via=quote)}" if query else ""
    url = f"{base_url}{path}{ending}"
    if origin_of(url) != origin_of(base_url):  # whatever the document says: the key stays with its service
        raise ValueError("its address would lead to another host.")
    return OpenApiRequest(method=method.upper(), url=url, headers=headers, content=content)


def _step(name: str, text: str) -> str:
    """A value as one segment of a path; refuses one that would lead elsewhere."""
    if text in ("", ".", ".."):
        raise ValueError(f"{name} cannot be {text!r}: it stands in an address.")
    return quote(text, safe=",=")


def _sign(
    credential: Credential, headers: dict[str, str], query: list[tuple[str, str]], cookies: list[tuple[str, str]]
) -> None:
    key = credential.key
    match credential.kind:
        case "query":
            query.append((credential.name, key))
        case "cookie":
            cookies.append((credential.name, quote(key)))
        case "header":
            headers[credential.name] = key
        case "basic":
            headers["authorization"] = f"Basic {base64.b64encode(key.encode()).decode()}"
        case _:
            headers["authorization"] = f"Bearer {key}"


def _content(takes: Arguments, fields: Mapping[str, Any], whole: object) -> bytes | None:
    content = fields or whole
    if takes.body_type is None or (content is None or content == {}):
        return None
    if takes.body_type == TEXT:
        return _word(whole).encode()
    if takes.body_type == FORM and fields:
        pairs = [pair for name, value in fields.items() for pair in _pairs(Argument(name, "", name, "form"), value)]
        return urlencode(pairs).encode()
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def _pairs(argument: Argument, value: object) -> list[tuple[str, str]]:
    """A value in a query, in the style that the operation wants."""
    name = argument.original
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, object]", value)
        if argument.style == "deepObject":
            return [(f"{name}[{key}]", _word(one)) for key, one in inner.items()]
        if argument.explode:
            return [(key, _word(one)) for key, one in inner.items()]
        return [(name, ",".join(f"{key},{_word(one)}" for key, one in inner.items()))]
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [_word(one) for one in cast("Sequence[object]", value)]
        if argument.explode and argument.style == "form":
            return [(name, item) for item in items]
        return [(name, _SEPARATORS.get(argument.style, ",").join(items))]
    return [(name, _word(value))]


def _joined(value: object, argument: Argument) -> str:
    """A value in a path, a header or a cookie."""
    if isinstance(value, Mapping):
        between = "=" if argument.explode and argument.style == "simple" else ","
        return ",".join(f"{key}{between}{_word(one)}" for key, one in cast("Mapping[str, object]", value).items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(_word, cast("Sequence[object]", value)))
    return _word(value)


def _word(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, float) else repr(value)


def _one_line(text: str) -> str:
    """No line break: it would begin another header."""
    return " ".join(text.splitlines()).encode("latin-1", "replace").decode("latin-1")
