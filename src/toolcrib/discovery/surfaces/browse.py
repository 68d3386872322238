"""Surface browse: five tools by which a model walks a catalog. The list of tools it sees never changes.

That suits clients that cannot take new tools within a conversation, such as MCP clients: `execute_tool` runs what was
found, and policy and confirmation apply to the inner tool. Each answer is a page of a few hundred tokens. `get_tool`
alone is the surface of compact mode.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from toolcrib.discovery import render as refusals
from toolcrib.discovery.handover import MOST_TOOLS, Discovered, is_confident
from toolcrib.discovery.render import name_line, tool_list
from toolcrib.discovery.surfaces.display import (
    SOURCE,
    Display,
    Page,
    SourceStates,
    contested,
    missing_sources,
    no_such_page,
    pages_of,
    place,
    surface_tool,
)
from toolcrib.discovery.surfaces.search import (
    NO_QUERY,
    NO_TOOLS,
    Query,
    discovered,
    not_searched,
    nothing_found,
    tools_found,
)
from toolcrib.discovery.toolbox import EXECUTE_TOOL, Toolbox
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


GET_TOOL = "get_tool"
DESCRIPTION = "Get a tool's arguments and usage notes, and make it callable. Do this before its first call."
READ_FIRST = "Get a tool's arguments and usage notes. Do this before its first call."
CALL_BY_NAME = "Call it by name."


def compact_surface(toolbox: Toolbox) -> tuple[Tool, ...]:
    """The one tool of compact mode, whose prompt lists every tool's name and one line."""
    return (get_tool(toolbox),)


def get_tool(toolbox: Toolbox, *, then: str = CALL_BY_NAME) -> Tool:
    """A tool that describes another in full and activates it; `then` says how to call that one."""
    return _get_tool.bind((toolbox, then))


@surface_tool(name=GET_TOOL, description=DESCRIPTION, phrases=("show a tool's arguments", "how is this tool called"))
async def _get_tool(
    surface: tuple[Toolbox, str], name: Annotated[str, Field(description="Exact name of the tool")]
) -> ToolResult:
    toolbox, then = surface
    return describe_and_activate(toolbox, name, Display(toolbox).specification, then)


def describe_and_activate(
    toolbox: Toolbox, name: str, described: Callable[[Tool], str], then: str = CALL_BY_NAME
) -> ToolResult:
    """Describe the tool of this name and make it callable, or say why not; `execute_tool` can run it anyhow."""
    held = toolbox.find(name.strip())
    if held is None:
        return refusals.unknown(name, toolbox.tools, None)
    if not Display(toolbox).may_call(held):
        return refusals.denied(held.name, toolbox.verdict(held).reason)
    activated = () if toolbox.is_fixed else toolbox.activate([held.name])
    return ToolResult(
        text=f"{described(held)}\n{then}",
        value=Discovered(query=name, tools=(held.name,), activated=activated, confidence=1.0),
    )


CATEGORIES_PER_PAGE = 25
TOOLS_PER_PAGE = 15
NAMES_PER_CATEGORY = 2  # shown beside a category, as examples

LIST_CATEGORIES = "List the categories of tools. Start here when you do not know what there is."
BROWSE_CATEGORY = "List the tools of a category, one line each."
SEARCH_TOOLS = (
    "Find tools by what they do, in any language. Always search before you say that something cannot be done."
)
EXECUTE = "Run a tool by name with its arguments, as get_tool or search_tools showed them."
HOW_TO_EXECUTE = "Run it with execute_tool."


def browse_surface(toolbox: Toolbox, *, sources: SourceStates | None = None) -> tuple[Tool, ...]:
    """The five tools of this surface; `Toolbox(catalog, surface=browse_surface)` makes them the way into a toolbox."""
    display = Display(toolbox)
    execute = call_by_name(toolbox, EXECUTE_TOOL, description=EXECUTE, wrapping="params")
    return (
        _list_categories.bind(display),
        _browse_category.bind(display),
        _search_tools.bind((display, sources)),
        replace(get_tool(toolbox, then=HOW_TO_EXECUTE), description=READ_FIRST),
        execute.with_metadata(source=SOURCE),
    )


@surface_tool(name="list_categories", description=LIST_CATEGORIES, phrases=("what kinds of tools are there",))
async def _list_categories(display: Display, page: Page = 1) -> ToolResult:
    categories = list(display.categories.items())
    if not categories:
        return ToolResult(text=NO_TOOLS)
    pages = pages_of(categories, CATEGORIES_PER_PAGE)
    if not 1 <= page <= len(pages):
        return no_such_page(page, len(pages))
    lines = tool_list(f"{category} ({len(held)}): {_examples(held)}" for category, held in pages[page - 1])
    more = f" list_categories(page={page + 1}) for more." if page < len(pages) else ""
    head = f"Categories, with how many tools{place(page, len(pages))}:"
    return ToolResult(text=f"{head}\n{lines}\nNext: browse_category(category) or search_tools(query).{more}")


@surface_tool(name="browse_category", description=BROWSE_CATEGORY, phrases=("which tools does a category have",))
async def _browse_category(
    display: Display, category: Annotated[str, Field(description="As list_categories names it")], page: Page = 1
) -> ToolResult:
    known = display.category(category)
    if known is None:
        return ToolResult.failure(display.unknown_category(category))
    held = display.categories[known]
    pages = pages_of(held, TOOLS_PER_PAGE)
    if not 1 <= page <= len(pages):
        return no_such_page(page, len(pages))
    shown = pages[page - 1]
    more = f" Page {page + 1} has more." if page < len(pages) else ""
    head = f"{known}, {len(held)} tool{'s' * (len(held) > 1)}{place(page, len(pages))}:"
    return ToolResult(
        text=f"{head}\n{tool_list(map(name_line, shown))}\nNext: get_tool(name) for a tool's arguments.{more}",
        value=Discovered(query=known, tools=tuple(one.name for one in shown)),
    )


@surface_tool(name="search_tools", description=SEARCH_TOOLS, phrases=("find a tool",))
async def _search_tools(surface: tuple[Display, SourceStates | None], query: Query, limit: int = 8) -> ToolResult:
    if not query.strip():
        return ToolResult.failure(NO_QUERY)
    display, sources = surface
    found = await display.toolbox.search_async(query, limit=MOST_TOOLS)
    shown = tools_found(display, found, limit)
    doubts = contested(display.toolbox, [hit.name for hit in found.hits], shown) if is_confident(found) else []
    sure = bool(shown) and is_confident(found) and not doubts
    missing = missing_sources(display.toolbox, sources, found=sure)
    if not shown:
        return nothing_found(display, query, missing, found.warnings)
    head = "Found:" if sure else "Perhaps one of these:"
    foot = "Next: execute_tool(name, params), or get_tool(name) for all details."
    lines = [head, tool_list(map(display.line, shown)), *doubts, *not_searched(missing), foot]
    return ToolResult(text="\n".join(lines), value=discovered(query, found, shown))


def _examples(tools: Sequence[Tool]) -> str:
    names = [one.name for one in tools[:NAMES_PER_CATEGORY]]
    return ", ".join([*names, "..."] if len(tools) > len(names) else names)
