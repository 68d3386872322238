"""What the model reads of the visible tools, their definitions and how to use them, and the arguments it sends back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

from pydantic_ai.tools import ToolDefinition

from toolcrib.discovery.confirmation import with_confirmed
from toolcrib.discovery.native import description, schema
from toolcrib.discovery.protocols import Note, notes_block
from toolcrib.discovery.tokens import compact_json, text_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy.policy import Decision
from toolcrib.tools.tool import Tool

# Pydantic AI appends a change of the protocols as a diff with two lines around it: blank ones, not two long notes.
_BLANK_LINES_WHEN_APPENDED = 2


@dataclass(frozen=True)
class Step:
    """What the model sees at one step: made once, and read for the request, the prompt and the token count."""

    tools: tuple[Tool, ...]
    guidance: tuple[str, ...]  # the texts that the notes were made of
    definitions: tuple[ToolDefinition, ...]
    notes: tuple[Note, ...]

    @cached_property
    def protocols(self) -> str:
        """How to use the tools; empty if there are no notes."""
        return notes_block(self.notes)

    @cached_property
    def appended_protocols(self) -> str:
        """The same, where changes are sent as a diff."""
        return notes_block(self.notes, blank_lines=_BLANK_LINES_WHEN_APPENDED)

    @cached_property
    def definition_tokens(self) -> int:
        """The tokens of the definitions, as entries of a request in OpenAI's chat format."""
        return sum(text_tokens(compact_json(_entry(one))) for one in self.definitions)

    @cached_property
    def protocol_tokens(self) -> int:
        """The tokens of the protocols."""
        return text_tokens(self.protocols)


def _entry(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
    return {"type": "function", "function": function}


class Definitions:
    """The definitions of one toolset, each made once: the same object at each step changes no cache.

    `confirmable` adds the argument `confirmed` to tools that ask first.
    """

    def __init__(self, *, confirmable: bool) -> None:
        self._confirmable = confirmable
        self._made: dict[str, tuple[Tool, bool, ToolDefinition]] = {}

    def of(self, toolbox: Toolbox, tools: tuple[Tool, ...]) -> tuple[ToolDefinition, ...]:
        """The definitions of tools that are visible in a toolbox."""
        surface = {tool.name for tool in toolbox.surface}  # the policy does not apply to them
        return tuple(
            self._of(tool, asks=self._confirmable and tool.name not in surface and _asks(toolbox, tool))
            for tool in tools
        )

    def _of(self, tool: Tool, *, asks: bool) -> ToolDefinition:
        held = self._made.get(tool.name)
        if held is None or held[0] is not tool or held[1] is not asks:
            parameters = schema(tool.parameters)
            made = ToolDefinition(
                name=tool.name,
                description=description(tool) or None,
                parameters_json_schema=with_confirmed(parameters) if asks else parameters,
                strict=bool(tool.strict),
                sequential=tool.sequential,
                return_schema=dict(tool.output_schema) if tool.output_schema is not None else None,
                include_return_schema=False,
                metadata=dict(tool.metadata) or None,
            )
            held = self._made[tool.name] = (tool, asks, made)
        return held[2]


def _asks(toolbox: Toolbox, tool: Tool) -> bool:
    return toolbox.verdict(tool).decision is Decision.ASK


def name_only(name: str, tool: Tool | None) -> ToolDefinition:
    """The definition of a tool that the model knows by its name alone."""
    sequential = tool is not None and tool.sequential
    return ToolDefinition(name=name, strict=False, sequential=sequential, include_return_schema=False)


# The arguments of a call: Pydantic AI checks nothing, for the toolbox repairs them.

_UNREADABLE = "\0unreadable"  # no JSON a model sends has such a key


class PassThroughValidator:
    """Lets all arguments through: the toolbox repairs them, or refuses them and shows the schema.

    Pydantic AI wants an object, so anything else is put into one.
    """

    def validate(self, input: str | dict[str, Any] | None) -> dict[str, Any]:
        """The arguments of a call, in either form."""
        return self.validate_json(input or "{}") if isinstance(input, str) else self.validate_python(input or {})

    def validate_json(
        self,
        input: str | bytes | bytearray,
        *,
        allow_partial: bool | Literal["off", "on", "trailing-strings"] = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        try:
            value = json.loads(input)
        except ValueError:
            value = input if isinstance(input, str) else bytes(input).decode("utf-8", "replace")
        return self.validate_python(value)

    def validate_python(
        self, input: Any, *, allow_partial: bool | Literal["off", "on", "trailing-strings"] = False, **kwargs: Any
    ) -> dict[str, Any]:
        if isinstance(input, Mapping):
            return {str(key): value for key, value in cast("Mapping[object, Any]", input).items()}
        return {_UNREADABLE: input}


def raw_arguments(arguments: dict[str, Any]) -> object:
    """The arguments as the model sent them."""
    return arguments.get(_UNREADABLE, arguments)


def shown_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as people see them; unreadable ones are under `arguments`."""
    return {"arguments": arguments[_UNREADABLE]} if _UNREADABLE in arguments else arguments
