"""A tool's arguments on one line: `cms_getPage(slug: str, includeContent: bool = false)`.

Made for a model that has to judge whether a tool fits, and that can mostly call it right away. What the line cannot
hold (long lists of values, nested objects, many optional arguments) is in the schema.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from toolcrib.tools.cleaning import ELLIPSIS, clean, clean_json
from toolcrib.tools.tool import Tool

MOST_CHARACTERS = 200
MOST_CALL_CHARACTERS = 80
MOST_VALUES = 6  # of an enum
MOST_VALUE_CHARACTERS = 24
MOST_NAME_CHARACTERS = 48
_MOST_LEVELS = 3  # of references and lists inside lists

_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "null",
}
_PLAIN_NAME = re.compile(r"[\w$.\-\[\]]+", re.ASCII)


def signature(tool: Tool) -> str:
    """Name and arguments; `?` marks an argument that can be left out and has no default."""
    required, optional = _arguments(tool.parameters)
    return f"{tool.name}({_joined(required, optional, MOST_CHARACTERS - len(tool.name) - 2)})"


def call_form(tool: Tool) -> str:
    """Name and names of arguments alone, for a model that sees the definition, too."""
    needed = tool.parameters.get("required") or ()
    names = [_spelled(name) + ("" if name in needed else "?") for name in _mapping(tool.parameters.get("properties"))]
    required = [name for name in names if not name.endswith("?")]
    optional = [name for name in names if name.endswith("?")]
    return f"{tool.name}({_joined(required, optional, MOST_CALL_CHARACTERS - len(tool.name) - 2)})"


def _arguments(parameters: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    needed = parameters.get("required")
    names = set(cast("Iterable[object]", needed)) if isinstance(needed, list | tuple) else set[object]()
    properties = parameters.get("properties")
    required: list[str] = []
    optional: list[str] = []
    for name, schema in _mapping(properties).items():
        (required if name in names else optional).append(_argument(name, schema, name in names, parameters))
    return required, optional


def _argument(name: str, schema: object, required: bool, whole: Mapping[str, Any]) -> str:
    spelled = _spelled(name)
    kind = _kind(schema, whole, _MOST_LEVELS)
    default = _mapping(schema).get("default")
    if required or default is None:
        return f"{spelled}{'' if required else '?'}: {kind}"
    return f"{spelled}: {kind} = {_value(default)}"


def _spelled(name: str) -> str:
    spelled = name if _PLAIN_NAME.fullmatch(name) else clean_json(name)
    return spelled if len(spelled) <= MOST_NAME_CHARACTERS else spelled[:MOST_NAME_CHARACTERS] + ELLIPSIS


def _joined(required: Sequence[str], optional: Sequence[str], room: int) -> str:
    """As many as fit, the required ones first; at least one, so that the line never says that there are none."""
    arguments = [*required, *optional]
    kept: list[str] = []
    for argument in arguments:
        if kept and len(", ".join([*kept, argument])) > room - len(", ...") * (len(kept) + 1 < len(arguments)):
            return ", ".join([*kept, "..."])
        kept.append(argument)
    return ", ".join(kept)


def _kind(schema: object, whole: Mapping[str, Any], levels: int) -> str:
    known = _mapping(_resolved(schema, whole))
    if not levels or not known:
        return "any"
    if "const" in known:
        return _value(known["const"])
    if isinstance(values := known.get("enum"), list | tuple) and values:
        return _alternatives(_value(value) for value in cast("Sequence[object]", values) if value is not None)
    for key in ("anyOf", "oneOf"):
        if isinstance(branches := known.get(key), list | tuple):
            return _alternatives(_kind(branch, whole, levels - 1) for branch in cast("Sequence[object]", branches))
    if isinstance(merged := known.get("allOf"), list | tuple) and merged:
        return _kind(cast("Sequence[object]", merged)[0], whole, levels - 1)
    kinds = known.get("type")
    if isinstance(kinds, list | tuple):
        return _alternatives(_named(kind, known, whole, levels) for kind in cast("Sequence[object]", kinds))
    return _named(kinds, known, whole, levels)


def _named(kind: object, schema: Mapping[str, Any], whole: Mapping[str, Any], levels: int) -> str:
    if kind == "array" and "items" in schema:
        return f"list[{_kind(schema['items'], whole, levels - 1)}]"
    if kind is None and "properties" in schema:
        return "dict"
    return _TYPES.get(kind, "any") if isinstance(kind, str) else "any"


def _alternatives(kinds: Iterable[str]) -> str:
    """`"a"|"b"`; that an argument may be null says nothing that its `?` does not."""
    shown = [kind for kind in dict.fromkeys(kinds) if kind != "null"]
    if "any" in shown or not shown:
        return "any"
    more = [ELLIPSIS] if len(shown) > MOST_VALUES else []
    return "|".join([*shown[:MOST_VALUES], *more])


def _resolved(schema: object, whole: Mapping[str, Any]) -> object:
    """What a reference inside the same document points to; one step, because `_kind` counts the steps."""
    reference = _mapping(schema).get("$ref")
    if not isinstance(reference, str):
        return schema
    target: object = whole
    for step in reference.removeprefix("#/").split("/"):
        target = _mapping(target).get(step)
    inner = _mapping(target)
    return {"anyOf": [inner]} if "$ref" in inner else inner


def _value(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(clean(value, MOST_VALUE_CHARACTERS), ensure_ascii=False)
    text = clean_json(value)
    return text if len(text) <= MOST_VALUE_CHARACTERS else f"{text[0]}{ELLIPSIS}{text[-1]}"


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
