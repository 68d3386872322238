"""The three tools a client sees: `search_tools`, `get_tool` and `call_tool`. This list never changes.

A fixed list stays in the client's prompt cache, and the newer protocol requires one. A tool that was found is run by
`call_tool`; policy and confirmation apply to the inner tool.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import mcp_types

from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.discovery.handover import MOST_TOOLS, is_confident
from toolcrib.discovery.render import label, tool_list
from toolcrib.discovery.surfaces.browse import SEARCH_TOOLS, call_by_name, get_tool
from toolcrib.discovery.surfaces.display import SOURCE, Display, SourceStates, contested, missing_sources
from toolcrib.discovery.surfaces.search import NO_QUERY, Query, discovered, not_searched, nothing_found, tools_found
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.result import SearchResult
from toolcrib.sources.mcp.resources import kind_of
from toolcrib.sources.source import SourceState
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Risk, Tool

# Conversions to MCP types: tool definitions, text results, refusals.


def text_result(text: str, *, failed: bool = False) -> mcp_types.CallToolResult:
    """A result that consists of text only."""
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=text)], is_error=failed)


def refusal(text: str, pending: PendingApproval) -> mcp_types.CallToolResult:
    """The result of a call that was not made because the user did not confirm it."""
    return text_result(text.format(tool=pending.tool), failed=True)


def surface_definition(tool: Tool, schema: Mapping[str, Any], *, runs: bool) -> mcp_types.Tool:
    """The definition of a surface tool. One that runs other tools (`runs`) may do whatever they do."""
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(schema),
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=not runs, destructive_hint=runs, idempotent_hint=not runs, open_world_hint=runs
        ),
    )


def found_definition(tool: Tool, risk: Risk) -> mcp_types.Tool:
    """The definition of a found tool in the client's list.

    It has no output schema: a client would reject a result that was cut because it is too long.
    """
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.parameters),
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=risk is Risk.SAFE, destructive_hint=risk is Risk.DESTRUCTIVE
        ),
    )


GET_TOOL = "Get all arguments and usage notes of a tool, where the line that search_tools shows does not say enough."
CALL_TOOL = "Run a tool by name with its arguments, as search_tools or get_tool showed them."
HOW_TO_CALL = "Run it with call_tool."
CALLERS = ("call_tool", "execute_tool")  # the tools of a surface that run another one
SearchedKind: TypeAlias = Literal["any", "tool", "resource", "prompt"]
_MOST_OF_ALL_KINDS = 100  # hits looked at for those of one kind
CODE_INSTRUCTIONS = "Find the tools for a task with tool_search, then call them in a program with run_code."
INSTRUCTIONS = "Find the tools for a task with search_tools, then run them with call_tool."


def gateway_surface(toolbox: Toolbox, *, sources: SourceStates | None = None) -> tuple[Tool, ...]:
    """The three tools; use them with `Toolbox(catalog, surface=gateway_surface)`."""
    details = replace(get_tool(toolbox, then=HOW_TO_CALL), description=GET_TOOL)
    caller = call_by_name(toolbox, "call_tool", description=CALL_TOOL, wrapping="arguments")
    tools = (_search_tools(Display(toolbox), sources), details, caller)
    return tuple(one.with_metadata(source=SOURCE) for one in tools)


class _LineCache:
    """The rendered line of each tool. It is valid as long as the tool object, which is frozen."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._lines: dict[str, tuple[Tool, str]] = {}

    def __call__(self, tool: Tool) -> str:
        cached = self._lines.get(tool.name)
        if cached is None or cached[0] is not tool:
            cached = self._lines[tool.name] = tool, self._display.line(tool)
        return cached[1]


def _search_tools(display: Display, sources: SourceStates | None) -> Tool:
    toolbox = display.toolbox
    line = _LineCache(display)

    @tool(description=SEARCH_TOOLS, phrases=("find a tool",))
    async def search_tools(query: Query, limit: int = 8, kind: SearchedKind = "any") -> ToolResult:
        if not query.strip():
            return ToolResult.failure(NO_QUERY)
        found = await toolbox.search_async(query, limit=MOST_TOOLS if kind == "any" else _MOST_OF_ALL_KINDS)
        if kind != "any":
            found = _only(found, kind, toolbox)
        shown = tools_found(display, found, limit)
        doubts = contested(toolbox, [hit.name for hit in found.hits], shown) if is_confident(found) else []
        confident = bool(shown) and is_confident(found) and not doubts
        missing = missing_sources(toolbox, sources, found=confident)
        if not shown:
            return nothing_found(display, query, missing, found.warnings)
        lines = [
            "Found:" if confident else "Perhaps one of these:",
            tool_list(map(line, shown)),
            *doubts,
            *_from_cache(shown, sources),
            *not_searched(missing),
            "Next: call_tool(name, arguments), or get_tool(name) for all details.",
        ]
        return ToolResult(text="\n".join(lines), value=discovered(query, found, shown))

    return search_tools


def _only(found: SearchResult, kind: str, toolbox: Toolbox) -> SearchResult:
    """The hits of one kind. Where the best hit is of another one, nothing is known of how sure the next is."""
    kept = [hit for hit in found.hits if (one := toolbox.find(hit.name)) and kind_of(one) == kind]
    same = found.hits[:1] == tuple(kept[:1])
    return replace(found, hits=tuple(kept[:MOST_TOOLS]), confidence=found.confidence if same else 0.0)


def _from_cache(shown: Sequence[Tool], sources: SourceStates | None) -> list[str]:
    """A line that names the sources whose tools are shown although the server is not ready."""
    states = sources() if callable(sources) else sources or {}
    by_source = {tool.source: states.get(tool.source, SourceState.READY) for tool in shown}
    not_ready = [
        f"{label(source)} ({state})" for source, state in sorted(by_source.items()) if state is not SourceState.READY
    ]
    return [f"From the cache, because the server is not ready: {', '.join(not_ready)}."] if not_ready else []
