"""The argument `confirmed`: by it a model says that the user agreed to a call. Its word alone proves nothing.

It stands in the definition of tools that ask first, and is taken out of a call before the tool sees it.
"""

from collections.abc import Mapping
from typing import Any, cast

from toolcrib.discovery.schema_reading import properties_of
from toolcrib.tools.tool import Tool

CONFIRMED = "confirmed"
CONFIRMED_SCHEMA = {"type": "boolean", "description": "true once the user agreed to this very call"}


def with_confirmed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool that asks first, as the model sees it."""
    properties: Mapping[str, Any] = parameters["properties"]
    if CONFIRMED in properties:
        return dict(parameters)
    return {**parameters, "properties": {**properties, CONFIRMED: CONFIRMED_SCHEMA}}


def without_confirmed(arguments: object, tool: Tool | None) -> tuple[object, bool]:
    """The arguments of the tool alone, and whether the model says that the user agreed."""
    if not isinstance(arguments, dict):
        return arguments, False
    sent = cast("dict[str, Any]", arguments)
    if tool is not None and CONFIRMED in properties_of(tool.parameters):  # a word of the tool's own, and ours too
        return sent, sent.get(CONFIRMED) is True
    return _stripped(sent)


def _stripped(arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Arguments without `confirmed`; tools that call other tools may have it one level down, where models put it."""
    kept: dict[str, Any] = {}
    confirmed = arguments.get(CONFIRMED) is True
    for key, value in arguments.items():
        if key == CONFIRMED:
            continue
        if isinstance(value, dict) and CONFIRMED in value:
            inner = dict(cast("dict[str, Any]", value))
            confirmed = confirmed or inner.pop(CONFIRMED) is True
            kept[key] = inner
        else:
            kept[key] = value
    return kept, confirmed
