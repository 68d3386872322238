"""Surface search: one tool, by which a model asks for what it needs and gets the few tools that fit, ready to call."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from toolcrib.discovery.breadth import MOST_TOOLS, is_sure, worth_showing
from toolcrib.discovery.discovered import Discovered
from toolcrib.discovery.display import SOURCE, Display
from toolcrib.discovery.render import quoted, tool_list
from toolcrib.discovery.source_state import SourceStates, missing_sources
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.result import SearchResult
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

SEARCH_NAME = "tool_search"

DESCRIPTION = (
    "Find tools for a task and make them callable. Describe the task in any language. "
    "Always search before you say that something cannot be done."
)
PHRASES = ("find a tool", "which tools are there", "what can you do")
NO_TOOLS = "There are no tools. Answer without them."
NO_QUERY = 'The query is empty. Say what should be done, such as "send an e-mail".'

Query = Annotated[str, Field(description="What should be done: action and thing")]


def search_surface(
    toolbox: Toolbox, name: str = SEARCH_NAME, *, sources: SourceStates | None = None
) -> tuple[Tool, ...]:
    """The one tool of this surface. `sources` tells which sources cannot be reached, for searches that find nothing.

    `Toolbox(catalog, surface=search_surface)` makes it the way into a toolbox.
    """
    display = Display(toolbox)

    @tool(name=name, description=DESCRIPTION, phrases=PHRASES)
    async def search(query: Query, limit: int = 8) -> ToolResult:
        if not query.strip():
            return ToolResult.failure(NO_QUERY)
        found = await toolbox.search_async(query, limit=MOST_TOOLS)
        shown = tools_found(display, found, limit)
        missing = missing_sources(toolbox, sources) if not shown or not is_sure(found) else []
        if not shown:
            return nothing_found(display, query, missing, found.warnings)
        activated = toolbox.activate([one.name for one in shown])
        return ToolResult(
            text=_answer(display, shown, sure=is_sure(found), new=bool(activated), missing=missing),
            value=discovered(query, found, shown, activated),
        )

    return (search.with_metadata(source=SOURCE),)


def tools_found(display: Display, found: SearchResult, limit: int) -> list[Tool]:
    """The tools worth showing; one that went away since the search is passed over."""
    return [held for hit in worth_showing(found, limit) if (held := display.toolbox.find(hit.name))]


def discovered(query: str, found: SearchResult, shown: Sequence[Tool], activated: tuple[str, ...] = ()) -> Discovered:
    """What a search found, for programs."""
    return Discovered(
        query=query,
        tools=tuple(one.name for one in shown),
        activated=activated,
        confidence=found.confidence,
        warnings=found.warnings,
        path=found.path,
        took_ms=found.took_ms,
    )


def nothing_found(
    display: Display, query: str, missing: Sequence[str] = (), warnings: tuple[str, ...] = ()
) -> ToolResult:
    """No tool fits: why, what there is, and how to go on. No failure: the model may be asking whether there is one."""
    value = Discovered(query=query, warnings=warnings)
    if not display.toolbox.tools and not missing:
        return ToolResult(text=NO_TOOLS, value=value)
    suggested = ", ".join(display.suggested(query))
    lines = [f"No tool fits {quoted(query)}." + (f" There are tools for: {suggested}." if suggested else "")]
    lines += not_searched(missing)
    lines.append("Search once more in other words if one could help; else answer without tools.")
    return ToolResult(text="\n".join(lines), value=value)


def not_searched(missing: Sequence[str]) -> list[str]:
    """Which sources could not be asked."""
    if not missing:
        return []
    return [f"Not searched: {', '.join(missing)}. Tell the user if the task needs one of these."]


def _answer(display: Display, shown: Sequence[Tool], *, sure: bool, new: bool, missing: Sequence[str]) -> str:
    """A short line each: what else there is to know stands in their definitions, which the model sees from now on."""
    if not any(map(display.may_call, shown)):
        lines = tool_list(map(display.line, shown))
        return f"Found, but not allowed:\n{lines}\nTell the user that these may not be used here."
    if new:
        found = f"Ready to call:\n{tool_list(map(display.short_line, shown))}"
    else:
        found = f"Already active, so call instead of searching again: {', '.join(map(display.name, shown))}."
    foot = (
        "None fits? Search again in other words."
        if sure
        else "Perhaps none of them fits: choose with care, or search again in other words."
    )
    return "\n".join([found, *not_searched(missing), foot])
