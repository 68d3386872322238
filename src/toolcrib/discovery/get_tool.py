"""`get_tool`: one tool's schema and protocol, on demand. It serves compact mode alone, and the surface browse."""

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from toolcrib.discovery import refusals
from toolcrib.discovery.discovered import Discovered
from toolcrib.discovery.display import SOURCE, Display
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

GET_TOOL = "get_tool"
DESCRIPTION = "Get a tool's arguments and usage notes, and make it callable. Do this before its first call."
CALL_BY_NAME = "Call it by name."


def compact_surface(toolbox: Toolbox) -> tuple[Tool, ...]:
    """The one tool of compact mode, whose prompt lists every tool's name and one line."""
    return (get_tool(toolbox),)


def get_tool(toolbox: Toolbox, *, then: str = CALL_BY_NAME) -> Tool:
    """A tool that describes another in full and activates it; `then` says how to call that one."""
    display = Display(toolbox)

    @tool(name=GET_TOOL, description=DESCRIPTION, phrases=("show a tool's arguments", "how is this tool called"))
    async def get(name: Annotated[str, Field(description="Exact name of the tool")]) -> ToolResult:
        return handed_over(toolbox, name, display.specification, then)

    return get.with_metadata(source=SOURCE)


def handed_over(toolbox: Toolbox, name: str, described: Callable[[Tool], str], then: str = CALL_BY_NAME) -> ToolResult:
    """One tool, asked for by its name: described and made callable, or why not."""
    held = toolbox.find(name.strip())
    if held is None:
        return refusals.unknown(name, (one.name for one in toolbox.tools), None)
    if not Display(toolbox).may_call(held):
        return refusals.denied(held.name, toolbox.verdict(held).reason)
    activated = toolbox.activate([held.name])
    return ToolResult(
        text=f"{described(held)}\n{then}",
        value=Discovered(query=name, tools=(held.name,), activated=activated, confidence=1.0),
    )
