"""The three tools a client sees: `search_tools`, `get_tool`, `call_tool`. The list never changes, whatever is behind.

Clients keep such a list in their prompt cache, and the newer protocol allows no other: a tool that is found is run by
`call_tool`, and policy and confirmation act on the inner tool.
"""

from collections.abc import Sequence
from dataclasses import replace

from toolcrib.discovery.breadth import MOST_TOOLS, is_sure
from toolcrib.discovery.browse_surface import SEARCH_TOOLS
from toolcrib.discovery.call_by_name import call_by_name
from toolcrib.discovery.display import SOURCE, Display
from toolcrib.discovery.get_tool import get_tool
from toolcrib.discovery.render import label, tool_list
from toolcrib.discovery.search_surface import NO_QUERY, Query, discovered, not_searched, nothing_found, tools_found
from toolcrib.discovery.source_state import SourceStates, missing_sources
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.sources.source import SourceState
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

GET_TOOL = "Get all arguments and usage notes of a tool, where the line that search_tools shows does not say enough."
CALL_TOOL = "Run a tool by name with its arguments, as search_tools or get_tool showed them."
HOW_TO_CALL = "Run it with call_tool."
CALLERS = ("call_tool", "execute_tool")  # the tools of a surface that run another one
INSTRUCTIONS = "Find the tools for a task with search_tools, then run them with call_tool."


def gateway_surface(toolbox: Toolbox, *, sources: SourceStates | None = None) -> tuple[Tool, ...]:
    """The three tools; `Toolbox(catalog, surface=gateway_surface)` makes them the way into a toolbox."""
    details = replace(get_tool(toolbox, then=HOW_TO_CALL), description=GET_TOOL)
    caller = call_by_name(toolbox, "call_tool", description=CALL_TOOL, wrapping="arguments")
    made = (_search_tools(Display(toolbox), sources), details, caller)
    return tuple(one.with_metadata(source=SOURCE) for one in made)


class _Lines:
    """The line of each tool that was shown. A tool is frozen, and so is what its caller may do with it."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._made: dict[str, tuple[Tool, str]] = {}

    def __call__(self, tool: Tool) -> str:
        held = self._made.get(tool.name)
        if held is None or held[0] is not tool:
            held = self._made[tool.name] = tool, self._display.line(tool)
        return held[1]


def _search_tools(display: Display, sources: SourceStates | None) -> Tool:
    toolbox = display.toolbox
    line = _Lines(display)

    @tool(description=SEARCH_TOOLS, phrases=("find a tool",))
    async def search_tools(query: Query, limit: int = 8) -> ToolResult:
        if not query.strip():
            return ToolResult.failure(NO_QUERY)
        found = await toolbox.search_async(query, limit=MOST_TOOLS)
        shown = tools_found(display, found, limit)
        sure = bool(shown) and is_sure(found)
        missing = [] if sure else missing_sources(toolbox, sources)
        if not shown:
            return nothing_found(display, query, missing, found.warnings)
        lines = [
            "Found:" if sure else "Perhaps one of these:",
            tool_list(map(line, shown)),
            *_from_memory(shown, sources),
            *not_searched(missing),
            "Next: call_tool(name, arguments), or get_tool(name) for all details.",
        ]
        return ToolResult(text="\n".join(lines), value=discovered(query, found, shown))

    return search_tools


def _from_memory(shown: Sequence[Tool], sources: SourceStates | None) -> list[str]:
    """Which of the tools found are known from the last time only, because their server does not answer now."""
    states = sources() if callable(sources) else sources or {}
    away = {tool.source: states.get(tool.source, SourceState.READY) for tool in shown}
    named = [f"{label(source)} ({state})" for source, state in sorted(away.items()) if state is not SourceState.READY]
    return [f"From the last time, for the server is not ready: {', '.join(named)}."] if named else []
