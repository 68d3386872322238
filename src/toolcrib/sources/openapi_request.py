"""From arguments to a request: each one written where, and as, the operation wants it."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote, urlencode

from toolcrib.sources.openapi_arguments import FORM, TEXT, WHOLE_BODY, Argument, Arguments

_SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """How a key goes along. The key itself shows nowhere."""

    kind: str  # "bearer", "basic", "header", "query" or "cookie"
    name: str = ""  # of the header, the parameter or the cookie
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenApiRequest:
    """A request that can be sent. Its address and headers may hold a key."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)


def request_of(
    method: str, base_url: str, path: str, takes: Arguments, given: Mapping[str, Any], credential: Credential | None
) -> OpenApiRequest:
    """The request for a call. Raises `ValueError` for a value that cannot stand where it belongs."""
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
    ending = f"?{urlencode(query, quote_via=quote)}" if query else ""
    return OpenApiRequest(method=method.upper(), url=f"{base_url}{path}{ending}", headers=headers, content=content)


def _step(name: str, text: str) -> str:
    """A value as one step of a path; not one that would lead to another place."""
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
    said = fields or whole
    if takes.body_type is None or (said is None or said == {}):
        return None
    if takes.body_type == TEXT:
        return _word(whole).encode()
    if takes.body_type == FORM and fields:
        pairs = [pair for name, value in fields.items() for pair in _pairs(Argument(name, "", name, "form"), value)]
        return urlencode(pairs).encode()
    return json.dumps(said, ensure_ascii=False, allow_nan=False).encode()


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
