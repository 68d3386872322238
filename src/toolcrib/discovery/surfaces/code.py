"""Surface code: a search that answers with Python signatures, and a tool that runs a program of calls.

The list of tools never changes, and what a program reads on its way the model does not pay for: only its last
expression comes back. Programs run in the Monty sandbox, apart from this process and everything on this machine; each
call of a tool goes through the toolbox, with the same policy, confirmation and limits as any other.
"""

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from toolcrib.discovery.handover import BUDGET_TOKENS
from toolcrib.discovery.program.limits import DEFAULT_LIMITS, CodeLimits
from toolcrib.discovery.program.paused import RUN_CODE
from toolcrib.discovery.program.run import resume_program, run_program
from toolcrib.discovery.program.types import declared, line, shape
from toolcrib.discovery.render import protocol_lines, tool_list
from toolcrib.discovery.surfaces.display import Display, SourceStates, surface_tool
from toolcrib.discovery.surfaces.search import (
    NO_QUERY,
    SEARCH_NAME,
    SURE_FROM,
    Query,
    SearchSubject,
    discovered,
    not_searched,
    nothing_found,
    search_tools,
)
from toolcrib.discovery.toolbox import Toolbox, answer_given
from toolcrib.errors import require
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

SEARCH = (
    "Find tools for a task, as Python functions to call in run_code. Describe the task in any language. "
    "Always search before you say that something cannot be done."
)
RUN = (
    "Run a Python program that calls tools. Each tool found is an async function: `pages = await list_pages()`; "
    "calls that do not depend on each other go into asyncio.gather. The last expression comes back: return only "
    "what you need, not what you can compute. A call that fails raises ToolError. No files, no network."
)
FOUND = "Call these in run_code, each with await:"
PERHAPS = "Perhaps one of these, in run_code, each with await:"
NOTHING_TO_RUN = 'There is no program. Give it as `code`, such as "await list_pages()".'


def code_surface(
    toolbox: Toolbox,
    *,
    sources: SourceStates | None = None,
    budget_tokens: int = BUDGET_TOKENS,
    limits: CodeLimits = DEFAULT_LIMITS,
) -> tuple[Tool, ...]:
    """The two tools of this surface; `Toolbox(catalog, surface=code_surface)` makes them the way into a toolbox.

    Args:
        toolbox: Whose tools are found and called.
        sources: Which sources cannot be reached, for searches that find nothing.
        budget_tokens: Of definitions that a search may show for each errand; the best tool always comes.
        limits: Of each program.
    """
    require("code", "The surface code")
    subject = SearchSubject(toolbox, sources, budget_tokens)
    return (_search.bind(subject), _run_code.bind(_Runner(toolbox, limits)))


@dataclass(frozen=True, slots=True)
class _Runner:
    toolbox: Toolbox
    limits: CodeLimits


@surface_tool(name=SEARCH_NAME, description=SEARCH, phrases=("find a tool", "which tools are there"))
async def _search(surface: SearchSubject, query: Query, limit: int = 8) -> ToolResult:
    if not query.strip():
        return ToolResult.failure(NO_QUERY)
    display = Display(surface.toolbox)
    found = await search_tools(surface, query, limit)
    if not found.handed:
        return nothing_found(display, query, found.missing, found.result.warnings)
    lines = [
        FOUND if found.confidence >= SURE_FROM else PERHAPS,
        tool_list(_described(display, tool) for tool in found.handed),
        *([f"Also: {', '.join(one.name for one in found.named)}. Search for a name to see it."] if found.named else []),
        *not_searched(found.missing),
    ]
    value = discovered(query, found.result, found.handed, (), found.named)
    return ToolResult(text="\n".join(lines), value=replace(value, confidence=found.confidence))


def _described(display: Display, tool: Tool) -> str:
    """A tool as a Python function: its signature, what comes back, and how to use it."""
    known = declared(tool)
    seen = display.toolbox.programs.returned.get(tool.name) if known is None else None
    lines = [line(tool, known, *display.marks(tool))]
    if known is not None and (returned := shape(known)):
        lines.append(f"returns {returned}")
    elif seen is not None:
        lines.append(f"returned before: {shape(seen) or seen.get('type', 'anything')}")
    return "\n  ".join([*lines, *protocol_lines(tool.protocol)])


@surface_tool(name=RUN_CODE, description=RUN, phrases=("run a program", "do it with code"))
async def _run_code(
    surface: _Runner,
    code: str = "",
    resume: Annotated[str, Field(description="A program that waits for the user's yes, to go on with it")] = "",
    context: object = None,
) -> ToolResult:
    if resume.strip():
        return await resume_program(surface.toolbox, surface.limits, resume.strip(), answer_given.get(), context)
    if not code.strip():
        return ToolResult.failure(NOTHING_TO_RUN)
    return await run_program(surface.toolbox, surface.limits, code, context)
