"""Routes that search, list, show, try and check the tools of the catalog."""

import asyncio
import time
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from toolcrib.catalog.catalog import Catalog
from toolcrib.credentials import acting_for
from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.discovery.costs import cost_table
from toolcrib.discovery.tokens import definition_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import UnknownToolError
from toolcrib.evals.retrieval import discoverability
from toolcrib.policy.policy import Decision
from toolcrib.search.interface import SearchIndex
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
from toolcrib.server.services import Services, ServicesHere, StoreHere
from toolcrib.tools.tool import Tool

search_routes = APIRouter(prefix="/api", tags=["search"])

NEAREST = 3
LEXICAL_ONLY = SearchOptions(arms="lexical", abstain=False, decompose=False)
NO_ABSTENTION = SearchOptions(abstain=False)


@search_routes.post("/search")
async def search(query: SearchQuery, services: ServicesHere) -> Found:
    """Find tools for a request in any language, with an explanation of each hit. No tool becomes active."""
    return await asyncio.to_thread(_search, services, query.query, query.limit)


def _search(services: Services, query: str, limit: int) -> Found:
    index, toolbox = services.index, services.toolbox()
    found = index.search(query, limit=limit)
    return Found(
        hits=[_explained_hit(index, toolbox, query, hit) for hit in found.hits],
        confidence=found.confidence,
        path=found.path,
        took_ms=found.took_ms,
        reason=found.reason,
        warnings=list(found.warnings),
        bm25=_visible(toolbox, index.search(query, limit=limit, options=LEXICAL_ONLY).names),
        nearest=[]
        if found.hits
        else _visible(toolbox, index.search(query, limit=NEAREST, options=NO_ABSTENTION).names),
    )


def _explained_hit(index: SearchIndex, toolbox: Toolbox, query: str, hit: Hit) -> ExplainedHit:
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


def _visible(toolbox: Toolbox, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if toolbox.find(name) is not None]


routes = APIRouter(prefix="/api", tags=["tools"])
MISSING: Responses = {404: {"model": Refusal, "description": "There is no such tool."}}


@routes.get("/tools")
async def list_tools(
    services: ServicesHere, category: Annotated[str | None, Query(examples=["images"])] = None
) -> list[ToolLine]:
    """List the tools, of one category or all."""
    toolbox = services.toolbox()
    return [_tool_line(toolbox, tool) for tool in toolbox.tools if category is None or tool.category == category]


@routes.get("/tools/{name}", responses=MISSING)
async def get_tool(name: str, services: ServicesHere) -> ToolShape:
    """Show the full definition of a tool."""
    toolbox = services.toolbox()
    tool = _tool(toolbox, name)
    protocol = {key: str(value) for key, value in asdict(tool.protocol).items() if value} if tool.protocol else None
    return ToolShape(
        **_tool_line(toolbox, tool).model_dump(),
        parameters=dict(tool.parameters),
        protocol=protocol,
        phrases=list(tool.phrases),
        related=[name for name in tool.related if toolbox.find(name) is not None],
        tokens=definition_tokens(tool),
        can_try=toolbox.may_call(tool),
    )


@routes.post("/tools/{name}/try", responses=MISSING)
async def try_tool(name: str, trial: Trial, services: ServicesHere, store: StoreHere) -> Tried:
    """Call a tool outside of a conversation. Where the policy asks first, nothing is called, and `asks` has the id to
    send back as the yes."""
    toolbox = services.toolbox()
    name = _tool(toolbox, name).name
    approval = None
    if trial.approved is not None:
        pending = services.trials.take(store.tenant, trial.approved)
        if pending is None:
            raise http_error(409, "Nobody waits for this yes any more.", "Call it again without `approved`.")
        approval = pending.approve()
    began = time.perf_counter()
    with acting_for(store.tenant):
        result = await toolbox.call(name, trial.arguments, approved=approval)
    took_ms = round((time.perf_counter() - began) * 1000, 2)
    if isinstance(result.value, PendingApproval):
        asks = services.trials.ask(store.tenant, result.value)
        return Tried(text="", failed=False, asks=asks, reason=result.value.reason, took_ms=took_ms)
    return Tried(text=result.text, failed=result.failed, took_ms=took_ms)


@routes.get("/categories")
async def list_categories(services: ServicesHere) -> list[Category]:
    """List the categories, with the number of tools in each."""
    return [Category(name=name, tools=count) for name, count in services.toolbox().categories().items()]


@routes.get("/check")
async def check(services: ServicesHere) -> list[FindingShape]:
    """List problems of the tools, and what makes tools hard to find (`toolcrib check`)."""
    return await services.cached_by_revision("check", lambda: asyncio.to_thread(_findings, services))


@routes.get("/tokens")
async def tokens(services: ServicesHere) -> dict[str, Any]:
    """Show the token cost of the tools in each mode (`toolcrib tokens --json`)."""
    return await services.cached_by_revision("tokens", lambda: _costs(services))


async def _costs(services: Services) -> dict[str, Any]:
    catalog, tools = services.served.crib.catalog, services.toolbox().tools
    visible = catalog if len(tools) == len(catalog) else Catalog(tools)  # the cost must not reveal hidden tools
    return (await cost_table(visible)).to_json()


def _findings(services: Services) -> list[FindingShape]:
    tools = {tool.name: tool for tool in services.toolbox().tools}
    problems = [
        problem for problem in services.served.crib.catalog.check() if not problem.tool or problem.tool in tools
    ]
    findings = [*problems, *discoverability(services.index, tools.values())]
    return [FindingShape(tool=one.tool, rule=one.rule, message=one.message, hint=one.hint) for one in findings]


def _tool(toolbox: Toolbox, name: str) -> Tool:
    tool = toolbox.find(name)
    if tool is None:
        raise UnknownToolError(name, [one.name for one in toolbox.tools])
    return tool


def _tool_line(toolbox: Toolbox, tool: Tool) -> ToolLine:
    return ToolLine(
        name=tool.name,
        description=tool.description,
        category=tool.category,
        risk=tool.risk.value,
        confirm=toolbox.verdict(tool).decision is Decision.ASK,
        source=tool.source,
    )
