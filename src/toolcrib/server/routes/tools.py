"""The catalog: which tools there are, what they say of themselves, and a way to try those that can do no harm."""

import asyncio
import time
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.costs import cost_table
from toolcrib.discovery.tokens import definition_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import UnknownToolError
from toolcrib.evals.retrieval import discoverability
from toolcrib.policy.policy import Decision
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import SearchOptions
from toolcrib.search.result import Hit
from toolcrib.server.middleware import http_error
from toolcrib.server.schemas import (
    Category,
    ExplainedHit,
    FindingShape,
    Found,
    Query as SearchQuery,
    Refusal,
    Responses,
    ToolLine,
    ToolShape,
    Trial,
    Tried,
)
from toolcrib.server.services import Services, ServicesHere, is_harmless
from toolcrib.tools.tool import Tool

# Search, with explanations: what was found, by which arm, and what a plain ranking by words would have given.

search_routes = APIRouter(prefix="/api", tags=["search"])

NEAREST = 3
BY_WORDS = SearchOptions(arms="lexical", abstain=False, decompose=False)
ALWAYS_ANSWER = SearchOptions(abstain=False)


@search_routes.post("/search")
async def search(query: SearchQuery, house: ServicesHere) -> Found:
    """Find tools by a request in any language. Nothing becomes active."""
    return await asyncio.to_thread(_search, house, query.query, query.limit)


def _search(house: Services, query: str, limit: int) -> Found:
    index, toolbox = house.index, house.toolbox()
    found = index.search(query, limit=limit)
    return Found(
        hits=[_explained(index, toolbox, query, hit) for hit in found.hits],
        confidence=found.confidence,
        path=found.path,
        took_ms=found.took_ms,
        reason=found.reason,
        warnings=list(found.warnings),
        bm25=_seen(toolbox, index.search(query, limit=limit, options=BY_WORDS).names),
        nearest=[] if found.hits else _seen(toolbox, index.search(query, limit=NEAREST, options=ALWAYS_ANSWER).names),
    )


def _explained(index: ToolIndex, toolbox: Toolbox, query: str, hit: Hit) -> ExplainedHit:
    why = index.explain(query, hit.name)
    tool = toolbox.find(hit.name)
    return ExplainedHit(
        name=hit.name,
        score=hit.score,
        why=hit.why,
        description=tool.description if tool else "",
        lexical_rank=why.lexical_rank,
        lexical_score=why.lexical_score,
        dense_rank=why.dense_rank,
        cosine=why.cosine,
        matched=list(why.matched),
        missing=list(why.missing),
    )


def _seen(toolbox: Toolbox, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if toolbox.find(name) is not None]


routes = APIRouter(prefix="/api", tags=["tools"])
MISSING: Responses = {404: {"model": Refusal, "description": "There is no such tool."}}


@routes.get("/tools")
async def list_tools(
    house: ServicesHere, category: Annotated[str | None, Query(examples=["images"])] = None
) -> list[ToolLine]:
    """The tools, of one category or all."""
    toolbox = house.toolbox()
    return [_line(toolbox, tool) for tool in toolbox.tools if category is None or tool.category == category]


@routes.get("/tools/{name}", responses=MISSING)
async def get_tool(name: str, house: ServicesHere) -> ToolShape:
    """All that a tool says of itself."""
    toolbox = house.toolbox()
    tool = _tool(toolbox, name)
    protocol = {key: str(value) for key, value in asdict(tool.protocol).items() if value} if tool.protocol else None
    return ToolShape(
        **_line(toolbox, tool).model_dump(),
        parameters=dict(tool.parameters),
        protocol=protocol,
        phrases=list(tool.phrases),
        related=[name for name in tool.related if toolbox.find(name) is not None],
        tokens=definition_tokens(tool),
        can_try=is_harmless(toolbox, tool),
    )


@routes.post(
    "/tools/{name}/try",
    responses={**MISSING, 403: {"model": Refusal, "description": "The tool may change something, or asks first."}},
)
async def try_tool(name: str, trial: Trial, house: ServicesHere) -> Tried:
    """Call a tool that only reads."""
    toolbox = house.toolbox()
    if not is_harmless(toolbox, _tool(toolbox, name)):
        raise http_error(403, f"{name} may change something, so it is not for trying.", "Ask the agent to use it.")
    began = time.perf_counter()
    result = await toolbox.call(name, trial.arguments)
    return Tried(text=result.text, failed=result.failed, took_ms=round((time.perf_counter() - began) * 1000, 2))


@routes.get("/categories")
async def list_categories(house: ServicesHere) -> list[Category]:
    """The categories, and how many tools each has."""
    return [Category(name=name, tools=count) for name, count in house.toolbox().categories().items()]


@routes.get("/check")
async def check(house: ServicesHere) -> list[FindingShape]:
    """What is wrong with the tools, and what keeps them from being found (`toolcrib check`)."""
    return await house.cached_by_revision("check", lambda: asyncio.to_thread(_findings, house))


@routes.get("/tokens")
async def tokens(house: ServicesHere) -> dict[str, Any]:
    """What the tools cost in each mode (`toolcrib tokens --json`)."""
    return await house.cached_by_revision("tokens", lambda: _costs(house))


async def _costs(house: Services) -> dict[str, Any]:
    catalog, tools = house.served.crib.catalog, house.toolbox().tools
    seen = catalog if len(tools) == len(catalog) else Catalog(tools)  # of what is hidden, not even the cost is told
    return (await cost_table(seen)).to_json()


def _findings(house: Services) -> list[FindingShape]:
    tools = {tool.name: tool for tool in house.toolbox().tools}
    wrong = [problem for problem in house.served.crib.catalog.check() if not problem.tool or problem.tool in tools]
    found = [*wrong, *discoverability(house.index, tools.values())]
    return [FindingShape(tool=one.tool, rule=one.rule, message=one.message, hint=one.hint) for one in found]


def _tool(toolbox: Toolbox, name: str) -> Tool:
    tool = toolbox.find(name)
    if tool is None:
        raise UnknownToolError(name, [one.name for one in toolbox.tools])
    return tool


def _line(toolbox: Toolbox, tool: Tool) -> ToolLine:
    return ToolLine(
        name=tool.name,
        description=tool.description,
        category=tool.category,
        risk=tool.risk.value,
        confirm=toolbox.verdict(tool).decision is Decision.ASK,
        source=tool.source,
    )
