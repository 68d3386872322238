"""Arguments that are nearly right, made right before they reach a tool; what cannot be is refused with its schema.

Models wrap arguments once too often, quote numbers and lists, and miss the case of a choice. Each repair is made only
where the schema leaves no other reading, and never to arguments that fit as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

from toolcrib.discovery.schema_reading import SchemaReading, json_in, properties_of
from toolcrib.tools.argument_errors import explain_complaints, explain_not_an_object
from toolcrib.tools.tool import Tool

# What models put around the arguments of a call.
_WRAPPERS = ("arguments", "args", "params", "parameters", "input", "kwargs")
_MOST_WRAPPERS = 3


@dataclass(frozen=True, slots=True)
class Fitted:
    """Arguments as the tool's schema wants them."""

    arguments: dict[str, Any]


@runtime_checkable
class ChecksArguments(Protocol):
    """A call that can say beforehand what it has against some arguments. Function tools can; they know more than
    their schema does, so their word counts for what needs a repair and what is refused."""

    def refusal(self, arguments: object) -> str | None: ...


def fitted(tool: Tool, arguments: object) -> Fitted | str:
    """The arguments, repaired where there is one plain way to; else the text of a refusal."""
    # Nothing at all is how some models call a tool that needs no arguments.
    given = {} if arguments is None or arguments == "" else _as_object(arguments)
    if given is None:
        return explain_not_an_object(tool.name, arguments)
    given = _unwrapped(given, tool)
    checks = tool.call if isinstance(tool.call, ChecksArguments) else None
    if checks is not None and checks.refusal(given) is None:
        return Fitted(given)
    reading = SchemaReading(tool.parameters)
    repaired = cast("dict[str, Any]", reading.repaired(given, tool.parameters))
    if checks is not None:
        refusal = checks.refusal(repaired)
    else:
        complaints = reading.complaints(repaired, tool.parameters)
        refusal = explain_complaints(tool.name, complaints, tool.parameters) if complaints else None
    return refusal or Fitted(repaired)


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
