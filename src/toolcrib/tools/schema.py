"""JSON Schemas: what we accept as one, and the part of it that a model needs to see."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from toolcrib.errors import ToolDefinitionError


def mapping(value: object) -> Mapping[str, Any]:
    """A JSON object; an empty one in place of anything else, because foreign documents contain mistakes."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def items(value: object) -> list[object]:
    """A JSON list; an empty one in place of anything else."""
    return cast("list[object]", value) if isinstance(value, list) else []


# Far beyond any hand-made schema, and far below what would fill a context window.
MOST_SCHEMA_CHARACTERS = 256 * 1024
# Deeper than any schema a model can fill, and shallow enough to be walked by plain recursion on every Python.
MOST_SCHEMA_LEVELS = 100


def checked_schema(tool: str, schema: object) -> Mapping[str, Any]:
    """The schema of a tool's arguments, if it can be sent to a model."""
    if not isinstance(schema, Mapping):
        raise ToolDefinitionError(
            f"The parameters of {tool!r} are {schema!r}, not a JSON Schema.",
            hint='Give a mapping, such as {"type": "object", "properties": {}}.',
        )
    known = cast("Mapping[str, Any]", schema)
    if (kind := known.get("type", "object")) != "object":
        raise ToolDefinitionError(
            f"The parameters of {tool!r} have the type {kind!r}; models call tools with an object.",
            hint='Put the value into a property of {"type": "object"}.',
        )
    try:
        text = json.dumps(dict(known), allow_nan=False)
    except RecursionError:
        raise _circular(tool) from None
    except (TypeError, ValueError) as error:
        if "Circular" in str(error):
            raise _circular(tool) from None
        raise ToolDefinitionError(
            f"The parameters of {tool!r} are not JSON: {error}.",
            hint="Use only dicts with text keys, lists, text, finite numbers, booleans and None.",
        ) from None
    if _is_deep(known, text):
        raise _circular(tool)
    if (size := len(text)) > MOST_SCHEMA_CHARACTERS:
        raise ToolDefinitionError(
            f"The schema of {tool!r} is too large: {size:,} characters, at most {MOST_SCHEMA_CHARACTERS:,}.",
            hint="Split the tool, or take the large part as text and check it in the tool.",
        )
    return known


def _is_deep(schema: Mapping[str, Any], text: str) -> bool:
    """Whether it has too many levels. How deep `json` itself goes depends on the version of Python."""
    if text.count("{") + text.count("[") <= MOST_SCHEMA_LEVELS:
        return False  # nearly always: there are not enough brackets for that many levels
    level: list[object] = [schema]
    for _ in range(MOST_SCHEMA_LEVELS):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).values()
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def _circular(tool: str) -> ToolDefinitionError:
    return ToolDefinitionError(
        f"The schema of {tool!r} contains itself, or is nested too deeply to be written.",
        hint='Name the repeated part in "$defs" and point to it with {"$ref": "#/$defs/Name"}.',
    )


def argument_schema(parameters: Mapping[str, Any], argument: str) -> Mapping[str, Any] | None:
    """The schema of one argument, with the definitions it points to; None for an unknown argument."""
    schema = _mapping(parameters, "properties").get(argument)
    if schema is None:
        return None
    definitions = _mapping(parameters, "$defs")
    needed: dict[str, Any] = {}
    open_names = list(_referenced(schema))
    while open_names:
        name = open_names.pop()
        if name in definitions and name not in needed:
            needed[name] = definitions[name]
            open_names.extend(_referenced(definitions[name]))
    return {**schema, "$defs": needed} if needed else schema


def _mapping(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The mapping under a key; empty if it is no mapping, because foreign schemas contain mistakes."""
    held = schema.get(key)
    return cast("Mapping[str, Any]", held) if isinstance(held, Mapping) else {}


def _referenced(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, value in cast("Mapping[str, object]", schema).items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix("#/$defs/")
            else:
                yield from _referenced(value)
    elif isinstance(schema, Sequence) and not isinstance(schema, str):
        for item in cast("Sequence[object]", schema):
            yield from _referenced(item)
