"""A JSON Schema without the words that a model needs not read: every definition pays for them in every request.

What is left out is checked by the toolbox all the same, against the whole schema: that nothing else may be given, that
a text or a list may not be empty, and that an argument which can be left out may also be null. A tenth to a fifth of a
definition made from Python types goes that way.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

_NULL = {"type": "null"}
# Under these keys stand names of the tool's own, each with a schema.
_NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
# Under these stand values, which calls repeat exactly, and no schemas.
_VALUES = frozenset({"enum", "const", "default", "examples", "required", "dependentRequired"})


def lean(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as a model needs it."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if _goes_without_saying(key, value):
            continue
        if key in _NAMED and isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            kept[key] = {name: _inner(one) for name, one in named.items()}
        else:
            kept[key] = value if key in _VALUES else _inner(value)
    return _without_null(kept)


def _goes_without_saying(key: str, value: object) -> bool:
    return (
        (key == "additionalProperties" and value is False)
        or (key in ("minLength", "minItems") and value == 1)
        or (key == "title" and isinstance(value, str))  # the name of the argument again, as pydantic writes it
    )


def _inner(value: Any) -> Any:
    if isinstance(value, Mapping):
        return lean(cast("Mapping[str, Any]", value))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_inner(one) for one in cast("Sequence[Any]", value)]
    return value


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Of a value or null, where null is what leaving it out means: the value."""
    if "default" not in schema or schema["default"] is not None:
        return schema
    rest = {key: value for key, value in schema.items() if key != "default"}
    kinds = rest.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        others = [kind for kind in cast("list[str]", kinds) if kind != "null"]
        return rest | {"type": others[0] if len(others) == 1 else others} if others else schema
    choices = rest.pop("anyOf", None)
    if not isinstance(choices, list) or _NULL not in choices:
        return schema
    others = [choice for choice in cast("list[Any]", choices) if choice != _NULL]
    if len(others) == 1 and isinstance(others[0], dict):
        return {**others[0], **rest}  # what is said of the argument itself counts, where both say something
    return {"anyOf": others, **rest}
