"""Checks and repairs the arguments of a call; what cannot be repaired is refused, with the schema.

Models wrap arguments once too often, quote numbers and lists, and miss the case of a choice. Each repair is made only
where the schema leaves no other reading, and never to arguments that fit as they are.
"""

import json
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from toolcrib.tools.call import MISSING, Complaint, explain_complaints, explain_not_an_object, no_such_argument
from toolcrib.tools.tool import Tool

Schema: TypeAlias = Mapping[str, Any]
Place: TypeAlias = tuple[int | str, ...]

# A schema may branch at every level, and trying every branch would never end. After so many checks all counts as valid.
_MOST_LOOKS = 20_000
_MOST_LEVELS = 60

_INTEGER = re.compile(r"[+-]?\d{1,30}(?:\.0+)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?", re.ASCII)

_IS: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "number": lambda value: _is_number(value),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
}
_A = {"integer": "an integer", "array": "a list", "object": "an object", "null": "null"}


class SchemaChecker:
    """Checks and repairs the arguments of one call; `root` is the schema with the definitions that others refer to."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._looks = _MOST_LOOKS

    def complaints(self, value: Any, schema: object, place: Place = ()) -> list[Complaint]:
        """Every certain mistake in a value."""
        known = self._resolved(schema)
        self._looks -= 1
        if known is None or self._looks < 0 or len(place) > _MOST_LEVELS:
            return []
        branches = _branches(known)
        if branches and all(self.complaints(value, branch, place) for branch in branches):
            return self._complaints_of_branches(value, branches, place)
        if (choices := _choices(known)) and not any(_same(value, choice) for choice in choices):
            listed = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in choices[:20])
            return [(place, f"should be one of {listed} (got {reprlib.repr(value)})")]
        types = _types(known)
        if types and not any(_IS[kind](value) for kind in types):
            return [(place, f"should be {' or '.join(_a(kind) for kind in types)} (got {reprlib.repr(value)})")]
        return list(self._complaints_inside(value, known, place))

    def repaired(self, value: Any, schema: object, level: int = 0) -> Any:
        """The value as the schema wants it, where there is one plain way to read it so; else the value itself."""
        known = self._resolved(schema)
        if known is None or level > _MOST_LEVELS or not self.complaints(value, known):
            return value
        inside = self._repaired_inside(value, known, level)
        for candidate in (inside, *self._readings(value, known, level)):
            if not self.complaints(candidate, known):
                return candidate
        return inside  # not all of it can be repaired; what can be makes the refusal shorter

    def _readings(self, value: Any, schema: Schema, level: int) -> Iterator[Any]:
        for branch in _branches(schema):
            yield self.repaired(value, branch, level + 1)
        folded = _folded(value)
        meant = [choice for choice in _choices(schema) if _folded(choice) == folded]
        if len(meant) == 1:
            yield meant[0]
        for kind in _types(schema):
            for reading in _read_as(kind, value):
                yield self._repaired_inside(reading, schema, level)

    def _repaired_inside(self, value: Any, schema: Schema, level: int) -> Any:
        if isinstance(value, Mapping):
            held = cast("Mapping[str, Any]", value)
            wanted = properties_of(schema)
            required = _required(schema)
            return {
                key: self.repaired(inner, wanted.get(key), level + 1)
                for key, inner in held.items()
                # Null for an argument that may be left out, but may not be null, means: leave it out.
                if not (inner is None and key in wanted and key not in required and self.complaints(None, wanted[key]))
            }
        if isinstance(value, list | tuple):
            items = schema.get("items")
            return [self.repaired(item, items, level + 1) for item in cast("Sequence[Any]", value)]
        return value

    def _complaints_inside(self, value: Any, schema: Schema, place: Place) -> Iterator[Complaint]:
        for part in _list_of(schema, "allOf"):
            yield from self.complaints(value, part, place)
        if isinstance(value, Mapping):
            held = cast("Mapping[str, Any]", value)
            wanted = properties_of(schema)
            for key in _required(schema):
                if key not in held:
                    yield (*place, key), MISSING
            for key, inner in held.items():
                if key in wanted:
                    yield from self.complaints(inner, wanted[key], (*place, key))
                elif schema.get("additionalProperties") is False and not schema.get("patternProperties"):
                    yield (*place, key), no_such_argument(key, list(wanted))
        elif isinstance(value, list | tuple) and (items := schema.get("items")) is not None:
            for number, item in enumerate(cast("Sequence[Any]", value)):
                yield from self.complaints(item, items, (*place, number))

    def _complaints_of_branches(self, value: Any, branches: Sequence[object], place: Place) -> list[Complaint]:
        solid = [branch for branch in branches if (self._resolved(branch) or {}).get("type") != "null"]
        if len(solid) == 1:  # an optional value: what is wrong with it is wrong with its one real form
            return self.complaints(value, solid[0], place)
        return [(place, f"fits none of the forms it may have (got {reprlib.repr(value)})")]

    def _resolved(self, schema: object) -> Schema | None:
        """The schema itself, where it only points to another; None if it says nothing that we read."""
        for _ in range(_MOST_LEVELS):
            if not isinstance(schema, Mapping):
                return None
            known = cast("Schema", schema)
            if not isinstance(pointer := known.get("$ref"), str):
                return known
            schema = self._pointed_at(pointer)
        return None

    def _pointed_at(self, pointer: str) -> object:
        root, *steps = pointer.split("/")
        found: Any = self._root if root == "#" else None
        for step in steps:
            name = step.replace("~1", "/").replace("~0", "~")
            found = cast("Schema", found).get(name) if isinstance(found, Mapping) else None
        return found


def properties_of(schema: Schema) -> Mapping[str, Any]:
    """The schemas of an object's keys, as far as it tells them."""
    properties = schema.get("properties")
    return cast("Mapping[str, Any]", properties) if isinstance(properties, Mapping) else {}


def _read_as(kind: str, value: Any) -> Iterator[Any]:
    """What a value may mean where a schema wants this type."""
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, str):
        yield from _text_read_as(kind, value.strip())
    if kind == "array" and value is not None and not isinstance(value, list | tuple):
        yield [value]


def _text_read_as(kind: str, text: str) -> Iterator[Any]:
    if kind == "integer" and _INTEGER.fullmatch(text):
        yield int(text.partition(".")[0])
    elif kind == "number" and _NUMBER.fullmatch(text) and isfinite(float(text)):
        yield int(text) if text.lstrip("+-").isdigit() else float(text)
    elif kind == "boolean" and text.casefold() in ("true", "false"):
        yield text.casefold() == "true"
    elif kind == "null" and text.casefold() in ("null", "none"):
        yield None
    elif kind in ("array", "object") and text[:1] in ("[", "{"):
        yield from json_in(text)


def json_in(text: str) -> Iterator[Any]:
    """The JSON value that a text holds, if it does."""
    try:
        yield json.loads(text)
    except (ValueError, RecursionError):
        return


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON: true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _folded(value: Any) -> str:
    return (value if isinstance(value, str) else json.dumps(value, default=repr)).strip().casefold()


def _branches(schema: Schema) -> list[object]:
    return _list_of(schema, "anyOf") or _list_of(schema, "oneOf")


def _choices(schema: Schema) -> list[Any]:
    return [schema["const"]] if "const" in schema else _list_of(schema, "enum")


def _types(schema: Schema) -> list[str]:
    """The types a value may have; none if any will do, or if we do not know one of them."""
    stated = schema.get("type")
    types = [stated] if isinstance(stated, str) else _list_of(schema, "type")
    return cast("list[str]", types) if all(kind in _IS for kind in types) else []


def _required(schema: Schema) -> list[str]:
    return [key for key in _list_of(schema, "required") if isinstance(key, str)]


def _list_of(schema: Schema, key: str) -> list[Any]:
    held = schema.get(key)
    return list(cast("Sequence[Any]", held)) if isinstance(held, list | tuple) else []


def _a(kind: str) -> str:
    return _A.get(kind, f"a {kind}")


# What models put around the arguments of a call.
_WRAPPERS = ("arguments", "args", "params", "parameters", "input", "kwargs")
_MOST_WRAPPERS = 3


@dataclass(frozen=True, slots=True)
class Repaired:
    """Arguments as the tool's schema wants them."""

    arguments: dict[str, Any]


@runtime_checkable
class ChecksArguments(Protocol):
    """A call that can check arguments beforehand.

    Function tools can, and know more than their schema: they decide what needs a repair and what is refused.
    """

    def refusal(self, arguments: object) -> str | None: ...


def repair_arguments(tool: Tool, arguments: object) -> Repaired | str:
    """The arguments, repaired where there is one plain way to; else the text of a refusal."""
    # Nothing at all is how some models call a tool that needs no arguments.
    given = {} if arguments is None or arguments == "" else _as_object(arguments)
    if given is None:
        return explain_not_an_object(tool.name, arguments)
    given = _unwrapped(given, tool)
    checks = tool.call if isinstance(tool.call, ChecksArguments) else None
    if checks is not None and checks.refusal(given) is None:
        return Repaired(given)
    reading = SchemaChecker(tool.parameters)
    repaired = cast("dict[str, Any]", reading.repaired(given, tool.parameters))
    if checks is not None:
        refusal = checks.refusal(repaired)
    else:
        complaints = reading.complaints(repaired, tool.parameters)
        refusal = explain_complaints(tool.name, complaints, tool.parameters) if complaints else None
    return refusal or Repaired(repaired)


def _as_object(arguments: object) -> dict[str, Any] | None:
    if isinstance(arguments, str):
        arguments = next(json_in(arguments), None)
    if not isinstance(arguments, Mapping):
        return None
    return {str(key): value for key, value in cast("Mapping[object, Any]", arguments).items()}


def _unwrapped(given: dict[str, Any], tool: Tool) -> dict[str, Any]:
    """What stands inside `{"arguments": {...}}`, or `{"name": ..., "arguments": {...}}`, unless the tool wants that."""
    declared = properties_of(tool.parameters)
    for _ in range(_MOST_WRAPPERS):
        wrapped = [key for key in given if key in _WRAPPERS and key not in declared]
        named = all(given[key] == tool.name for key in given if key not in wrapped)
        inner = _as_object(given[wrapped[0]]) if len(wrapped) == 1 and named else None
        if inner is None or (inner and not inner.keys() & {*declared, *_WRAPPERS}):
            return given
        given = inner
    return given
