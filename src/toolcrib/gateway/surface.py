"""The three tools a client sees: `search_tools`, `get_tool` and `call_tool`. This list never changes.

A fixed list stays in the client's prompt cache, and the newer protocol requires one. A tool that was found is run by
`call_tool`; policy and confirmation apply to the inner tool.
"""

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, TypeAlias, cast

import mcp_types

from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.discovery.handover import MOST_TOOLS, is_confident
from toolcrib.discovery.render import label, tool_list
from toolcrib.discovery.surfaces.browse import SEARCH_TOOLS, call_by_name, get_tool
from toolcrib.discovery.surfaces.display import SOURCE, Display, SourceStates, contested, missing_sources
from toolcrib.discovery.surfaces.search import NO_QUERY, Query, discovered, not_searched, nothing_found, tools_found
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.gateway.limits import GatewayLimits
from toolcrib.search.result import SearchResult
from toolcrib.sources.mcp.resources import kind_of
from toolcrib.sources.source import SourceState
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult, as_json
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


# Results that are too long for a model: the beginning is returned, and the whole text is kept for `read_result`.

_CUT_TOLERANCE_CHARACTERS = 300  # the line that says how to read on takes about as many
READ_RESULT = "read_result"  # without `__`, so no server's tool can have this name


class Caller(Protocol):
    """Who makes a call."""

    @property
    def name(self) -> str: ...


class LargeResults:
    """The latest long results, each readable only by its own caller. The oldest are dropped when there are too many."""

    def __init__(self, limits: GatewayLimits) -> None:
        self._most = limits.result_characters
        self._most_kept = limits.kept_results_characters
        self._kept: OrderedDict[str, tuple[str, str]] = OrderedDict()  # by handle: caller and text
        self._size = 0

    def fit(self, result: mcp_types.CallToolResult, caller: str) -> mcp_types.CallToolResult:
        """The unchanged result if it is short enough; otherwise its beginning, with a handle to read on."""
        text = "\n\n".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))
        structured = result.structured_content
        data = as_json(structured) if structured is not None else ""
        most = self._most + _CUT_TOLERANCE_CHARACTERS
        if len(text) <= most and len(data) <= most:
            return result
        whole = text if len(text) > most else data  # the protocol advises servers to repeat the data as text
        kept = [block for block in result.content if not isinstance(block, mcp_types.TextContent)]
        handle = self._keep(whole, caller)
        shown = f"{whole[: self._most]}\n\n{self._position_note(handle, 0, len(whole))}"
        first = mcp_types.TextContent(type="text", text=shown)
        return result.model_copy(update={"content": [first, *kept], "structured_content": None})

    def __contains__(self, handle: object) -> bool:
        """Whether the result with this handle is still kept."""
        return handle in self._kept

    def tool(self) -> Tool:
        """The tool that reads further in a cut result."""

        async def read(arguments: Mapping[str, object], context: object = None, /) -> ToolResult:
            caller = cast("Caller", context).name
            handle, start = str(arguments["handle"]), max(0, cast("int", arguments.get("start", 0)))
            owner, text = self._kept.get(handle, ("", ""))
            if owner != caller or not text:
                return ToolResult.failure(f"There is no result {handle!r} any more. Call its tool again.")
            if start >= len(text):
                return ToolResult.failure(f"The result ends at {len(text):,} characters.")
            note = self._position_note(handle, start, len(text))
            return ToolResult(text="\n\n".join(filter(None, (text[start : start + self._most], note))))

        return Tool(
            name=READ_RESULT,
            description="Read on in a long result that was cut.",
            parameters={
                "type": "object",
                "properties": {
                    "handle": {"type": "string", "description": "As the cut result names it"},
                    "start": {"type": "integer", "description": "Characters to skip"},
                },
                "required": ["handle"],
            },
            call=read,
            category="results",
            source=SOURCE,
        )

    def _position_note(self, handle: str, start: int, length: int) -> str:
        end = start + self._most
        if end >= length:
            return ""
        return (
            f"(Characters {start + 1:,} to {end:,} of {length:,}. "
            f'To read on, call {READ_RESULT} with {{"handle": "{handle}", "start": {end}}}.)'
        )

    def _keep(self, text: str, caller: str) -> str:
        handle = f"r-{secrets.token_hex(8)}"
        self._kept[handle] = caller, text
        self._size += len(text)
        while self._size > self._most_kept and len(self._kept) > 1:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._size -= len(oldest)
        return handle


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
