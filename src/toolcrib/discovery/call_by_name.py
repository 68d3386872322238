"""The tool of a surface that runs another one: for clients whose list of tools cannot grow."""

from collections.abc import Mapping
from typing import Any

from toolcrib.discovery.toolbox import Toolbox
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

_WRAPPINGS = ("arguments", "params", "parameters", "args")


def call_by_name(toolbox: Toolbox, name: str, *, description: str, wrapping: str) -> Tool:
    """A tool `name(name, wrapping)`: policy and confirmation act on the inner tool, not on this one."""
    wrappings = dict.fromkeys((wrapping, *_WRAPPINGS))

    async def call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        given = dict(arguments)
        inner = given.pop("name", None)
        if not isinstance(inner, str) or not inner.strip():
            return ToolResult.failure(
                f'{name} needs the name of a tool, such as {{"name": "...", "{wrapping}": {{}}}}.'
            )
        inner = inner.strip()
        if inner in {own.name for own in toolbox.surface}:
            return ToolResult.failure(f"{inner} is called by itself, not through {name}.")
        # Small models leave out the wrapping, or give it another name.
        wrapped = [key for key in wrappings if key in given]
        return await toolbox.call(inner, given[wrapped[0]] if wrapped else given, context)

    return Tool(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Exact name of the tool"},
                wrapping: {"type": "object", "description": "Its arguments"},
            },
            "required": ["name"],
        },
        call=call,
        phrases=("run a tool",),
    )
