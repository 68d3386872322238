"""The catalogue: which tools there are, what they say of themselves, and a way to try those that can do no harm."""

import asyncio
import time
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from toolcrib.catalog import Catalog
from toolcrib.discovery.cost_table import cost_table
from toolcrib.discovery.tokens import definition_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import UnknownToolError
from toolcrib.policy import Decision
from toolcrib.search.discoverability import discoverability
from toolcrib.server.house import House, HouseHere, is_harmless
from toolcrib.server.refusals import refused
from toolcrib.server.shapes import Category, FindingShape, Refusal, Responses, ToolLine, ToolShape, Trial, Tried
from toolcrib.tools.tool import Tool

routes = APIRouter(prefix="/api", tags=["tools"])
MISSING: Responses = {404: {"model": Refusal, "description": "There is no such tool."}}


@routes.get("/tools")
async def list_tools(
    house: HouseHere, category: Annotated[str | None, Query(examples=["images"])] = None
) -> list[ToolLine]:
    """The tools, of one category or all."""
    toolbox = house.toolbox()
    return [_line(toolbox, tool) for tool in toolbox.tools if category is None or tool.category == category]


@routes.get("/tools/{name}", responses=MISSING)
async def get_tool(name: str, house: HouseHere) -> ToolShape:
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
async def try_tool(name: str, trial: Trial, house: HouseHere) -> Tried:
    """Call a tool that only reads."""
    toolbox = house.toolbox()
    if not is_harmless(toolbox, _tool(toolbox, name)):
        raise refused(403, f"{name} may change something, so it is not for trying.", "Ask the agent to use it.")
    began = time.perf_counter()
    result = await toolbox.call(name, trial.arguments)
    return Tried(text=result.text, failed=result.failed, took_ms=round((time.perf_counter() - began) * 1000, 2))


@routes.get("/categories")
async def list_categories(house: HouseHere) -> list[Category]:
    """The categories, and how many tools each has."""
    return [Category(name=name, tools=count) for name, count in house.toolbox().categories().items()]


@routes.get("/check")
async def check(house: HouseHere) -> list[FindingShape]:
    """What is wrong with the tools, and what keeps them from being found (`toolcrib check`)."""
    return await house.once("check", lambda: asyncio.to_thread(_findings, house))


@routes.get("/tokens")
async def tokens(house: HouseHere) -> dict[str, Any]:
    """What the tools cost in each mode (`toolcrib tokens --json`)."""
    return await house.once("tokens", lambda: _costs(house))


async def _costs(house: House) -> dict[str, Any]:
    catalog, tools = house.served.crib.catalog, house.toolbox().tools
    seen = catalog if len(tools) == len(catalog) else Catalog(tools)  # of what is hidden, not even the cost is told
    return (await cost_table(seen)).to_json()


def _findings(house: House) -> list[FindingShape]:
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
