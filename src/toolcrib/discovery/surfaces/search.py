"""Surface search: one tool, by which a model asks for what it needs and gets the few tools that fit, ready to call."""

import asyncio
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from toolcrib.discovery.errands import Errand, errands
from toolcrib.discovery.handover import (
    BUDGET_TOKENS,
    MOST_TOOLS,
    SURE_FROM,
    VERY_SURE_FROM,
    Discovered,
    Handover,
    best_hits,
    confidence_word,
    hand_over,
    hand_over_errands,
    in_context,
    is_confident,
)
from toolcrib.discovery.protocols import protocols_block, tools_before
from toolcrib.discovery.render import quoted, tool_list
from toolcrib.discovery.surfaces.display import Display, SourceStates, missing_sources, surface_tool
from toolcrib.discovery.tokens import cached_tokens, definition_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.result import Hit, SearchResult
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

GUESSED_FROM = 0.25  # confidence of an errand that finds nothing by itself

Query = Annotated[str, Field(description="What should be done: action and thing")]


def search_surface(
    toolbox: Toolbox,
    name: str = SEARCH_NAME,
    *,
    sources: SourceStates | None = None,
    budget_tokens: int = BUDGET_TOKENS,
) -> tuple[Tool, ...]:
    """The one tool of this surface: `Toolbox(catalog, surface=search_surface)` makes it the way into a toolbox.

    Args:
        toolbox: Whose tools are found.
        name: What the tool is called.
        sources: Which sources cannot be reached, for searches that find nothing.
        budget_tokens: Of definitions and protocols that a search may add for each errand; the best tool always comes.
    """
    return (_search.bind(SearchSubject(toolbox, sources, budget_tokens), name=name),)


@dataclass(frozen=True, slots=True)
class SearchSubject:
    """What one search tool works on; the fields are the arguments of `search_surface`."""

    toolbox: Toolbox
    sources: SourceStates | None
    budget_tokens: int


@dataclass(frozen=True, slots=True)
class HandedOver:
    """What a search hands over, and what it only names."""

    result: SearchResult
    handed: list[Tool]
    named: list[Tool]
    confidence: float
    missing: list[str]  # sources that could not be searched


async def search_tools(surface: SearchSubject, query: str, limit: int) -> HandedOver:
    """Search for all errands of a request. Nothing becomes active."""
    toolbox, display = surface.toolbox, Display(surface.toolbox)
    found = await toolbox.search_async(query, limit=MOST_TOOLS)
    parts = [] if found.path == "exact" else await _search_errands(display, query, found)
    chosen = _chosen(surface, found, parts, limit)
    handed, named = _held(toolbox, chosen.handed), list(filter(display.may_call, _held(toolbox, chosen.named)))
    confidence = min([part.confidence for part in parts] or [found.confidence])
    missing = missing_sources(toolbox, surface.sources) if not handed or confidence < SURE_FROM else []
    return HandedOver(found, handed, named, confidence, missing)


@surface_tool(name=SEARCH_NAME, description=DESCRIPTION, phrases=PHRASES)
async def _search(surface: SearchSubject, query: Query, limit: int = 8) -> ToolResult:
    if not query.strip():
        return ToolResult.failure(NO_QUERY)
    toolbox, display = surface.toolbox, Display(surface.toolbox)
    found = await search_tools(surface, query, limit)
    handed, named, confidence = found.handed, found.named, found.confidence
    if not handed:
        return nothing_found(display, query, found.missing, found.result.warnings)
    activated = toolbox.activate([one.name for one in handed])
    return ToolResult(
        text=_answer(display, handed, named, confidence=confidence, new=bool(activated), missing=found.missing),
        value=replace(discovered(query, found.result, handed, activated, named), confidence=confidence),
    )


async def _search_errands(display: Display, query: str, whole: SearchResult) -> list[SearchResult]:
    """A search for each errand of a request; those that find their tool, or none if the request is one errand."""
    toolbox = display.toolbox

    async def search(*texts: str) -> list[SearchResult]:
        results = await asyncio.gather(*(toolbox.search_async(text, limit=MOST_TOOLS) for text in texts))
        return [in_context(one, whole) for one in results if one.hits]

    asked = errands(query)
    found = [[whole]] if len(asked) == 1 else [await search(errand.text) for errand in asked]
    found = [[one for one in own if is_confident(one) or {*one.names[:1]} & {*whole.names}] for own in found]
    if any(found):
        bests = {one.hits[0].name for own in found for one in own}
        for errand, own in zip(asked, found, strict=True):
            own += [] if own else await _guess(toolbox, errand, whole, bests)
    for errand, own in zip(asked, found, strict=True):
        # Only what is made can come with something: "find a page with images" asks for no images to be added.
        if errand.extras and own and own[0].hits and display.creates(own[0].hits[0].name):
            extras = await search(errand.head, *(f"add {extra}" for extra in errand.extras))
            own += [one for one in extras if is_confident(one)]
    results = [one for own in found for one in own]
    return results if len(results) > 1 else []


async def _guess(toolbox: Toolbox, errand: Errand, whole: SearchResult, taken: Container[str]) -> list[SearchResult]:
    """The likeliest tool of an errand that found none. Beside others that found theirs, it may only lack context."""
    guess = await toolbox.search_async(errand.text, limit=MOST_TOOLS, abstain=False)
    if guess.confidence < GUESSED_FROM:
        return []
    best = in_context(guess, whole).hits[0]
    return [replace(guess, hits=(best,))] if best.name in whole.names and best.name not in taken else []


def _chosen(surface: SearchSubject, found: SearchResult, parts: Sequence[SearchResult], limit: int) -> Handover:
    """What one search hands over and names."""
    toolbox = surface.toolbox

    def tokens_of(name: str) -> int:
        return _added_tokens(toolbox, name)

    def needed(result: SearchResult) -> tuple[str, ...]:
        # Without confidence in the best tool, the tools to use before it are noise.
        best = toolbox.find(result.hits[0].name) if result.confidence >= VERY_SURE_FROM else None
        return tools_before(best, toolbox.find) if best else ()

    def related(*results: SearchResult) -> list[str]:
        bests = [toolbox.find(result.hits[0].name) for result in results if result.hits]
        return [name for best in bests if best for name in best.related if toolbox.find(name)]

    budget = surface.budget_tokens
    if not parts:
        return hand_over(found, limit, tokens_of, budget, needed=needed(found), related=related(found))
    errands_found = [(part, needed(part)) for part in parts]
    return hand_over_errands(found, errands_found, limit, tokens_of, budget, related=related(*parts))


def tools_found(display: Display, found: SearchResult, limit: int) -> list[Tool]:
    """The tools worth a line each, for a list that hands nothing over."""
    return _held(display.toolbox, best_hits(found, limit))


def discovered(
    query: str,
    found: SearchResult,
    shown: Sequence[Tool],
    activated: tuple[str, ...] = (),
    named: Sequence[Tool] = (),
) -> Discovered:
    """What a search found, for programs."""
    return Discovered(
        query=query,
        tools=tuple(one.name for one in shown),
        activated=activated,
        named=tuple(one.name for one in named),
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
    """The line about sources that could not be searched."""
    if not missing:
        return []
    return [f"Not searched: {', '.join(missing)}. Tell the user if the task needs one of these."]


def _held(toolbox: Toolbox, hits: Sequence[Hit]) -> list[Tool]:
    """The tools of these hits; one that went away since the search is passed over."""
    return [held for hit in hits if (held := toolbox.find(hit.name))]


def _added_tokens(toolbox: Toolbox, name: str) -> int:
    """What handing over a tool adds to the next request: nothing if the model has it already, or may not call it."""
    tool = toolbox.find(name)
    if tool is None or toolbox.is_active(name) or not Display(toolbox).may_call(tool):
        return 0
    return definition_tokens(tool) + cached_tokens(tool, "protocol", lambda tool: protocols_block([tool]))


def _answer(
    display: Display,
    handed: Sequence[Tool],
    named: Sequence[Tool],
    *,
    confidence: float,
    new: bool,
    missing: Sequence[str],
) -> str:
    """A short line each: what else there is to know stands in their definitions, which the model sees from now on."""
    if not any(map(display.may_call, handed)):
        lines = tool_list(map(display.line, handed))
        return f"Found, but not allowed:\n{lines}\nTell the user that these may not be used here."
    if new:
        found = f"Ready to call ({confidence_word(confidence)}):\n{tool_list(map(display.short_line, handed))}"
    else:
        found = f"Already active, so call instead of searching again: {', '.join(map(display.name, handed))}."
    names = ", ".join(one.name for one in named)
    more = [f"Callable, too; for its arguments search for its name: {names}."] if named else []
    foot = (
        "None fits? Search again in other words."
        if confidence >= SURE_FROM
        else "Perhaps none of them fits: choose with care, or search again in other words."
    )
    return "\n".join([found, *more, *not_searched(missing), foot])
