"""Can the results of tools be read into the working memory? Extractions are run, not looked at.

A tool that only reads, may be called, and needs no arguments or names examples of them in its schema is called, and its
real result is read. For others the result is made from what their extraction declares. A custom extractor declares
nothing, so without examples it stays unproven.
"""

import asyncio
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import ToolcribError
from toolcrib.memory.entities import Found, Reading, find_entities
from toolcrib.server.schemas import ExtractionHealth, Health, Readiness, ToolAtFault
from toolcrib.server.services import ServicesHere, is_harmless
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import ROOT, Extraction, Tool

_SAMPLE = "sample"
_MESSAGES = {
    Reading.MISSED: "The result does not look as its extraction says.",
    Reading.FAILED: "The extraction raised an error, or gave something else than entities.",
}


async def extraction_health(toolbox: Toolbox) -> ExtractionHealth:
    """Run every extraction that can be run."""
    began = time.perf_counter()
    called: list[str] = []
    unproven: list[str] = []
    at_fault: list[ToolAtFault] = []
    checked = 0
    tools = _with_extraction(toolbox.tools)
    for tool in tools:
        how, result = await _result(toolbox, tool)
        if result is None:
            unproven.append(tool.name)
            continue
        checked += 1
        if how == "called":
            called.append(tool.name)
        if fault := _fault(tool, how, result):
            at_fault.append(fault)
    return ExtractionHealth(
        status="degraded" if at_fault else "ok",
        tools_with_extraction=sum(isinstance(tool.extraction, Extraction) for tool in tools),
        custom_extractors=sum(not isinstance(tool.extraction, Extraction) for tool in tools),
        checked=checked,
        called=called,
        unproven=unproven,
        at_fault=at_fault,
        took_ms=round((time.perf_counter() - began) * 1000, 1),
    )


def _with_extraction(tools: Iterable[Tool]) -> list[Tool]:
    return [tool for tool in tools if tool.extraction is not None]


async def _result(toolbox: Toolbox, tool: Tool) -> tuple[str, ToolResult | None]:
    arguments = _example_arguments(tool)
    if is_harmless(toolbox, tool) and arguments is not None:
        return "called", await toolbox.call(tool.name, arguments)
    return _SAMPLE, sample(tool.extraction) if isinstance(tool.extraction, Extraction) else None


def _example_arguments(tool: Tool) -> dict[str, Any] | None:
    """The required arguments as the schema's own examples have them; None where one has no example."""
    properties = tool.parameters.get("properties", {})
    examples = {name: properties.get(name, {}).get("examples") for name in tool.parameters.get("required", ())}
    return {name: values[0] for name, values in examples.items()} if all(examples.values()) else None


def _fault(tool: Tool, how: str, result: ToolResult) -> ToolAtFault | None:
    if result.failed:
        return ToolAtFault(tool=tool.name, how=how, reading="no result", message=result.text[:300])
    found: Found = find_entities(tool, result, at=datetime.now(UTC))
    message = _MESSAGES.get(found.reading, "")
    if how == _SAMPLE and found.reading is Reading.READ and not found.entities:
        message = "Nothing was read from a result made from its own words."
    if how == "called" and found.reading is Reading.READ and not found.entities and tool.parameters.get("required"):
        message = "Nothing was read from the result of its own example."
    return ToolAtFault(tool=tool.name, how=how, reading=found.reading, message=message) if message else None


def sample(extraction: Extraction) -> ToolResult:
    """A result as an extraction says that it looks."""
    item: dict[str, Any] = {}
    _put(item, extraction.name_field, "A name")
    _put(item, extraction.id_field, "an-id")
    value: Any = [item] if extraction.is_array else item
    if extraction.path != ROOT:
        whole: dict[str, Any] = {}
        _put(whole, extraction.path, value)
        value = whole
    return ToolResult.of(value)


def _put(into: dict[str, Any], path: str, value: Any) -> None:
    *steps, last = path.split(".")
    for step in steps:
        into = into.setdefault(step, {})
    into[last] = value


# Whether the server lives, can work, and understands what its tools give; and its metrics.

routes = APIRouter(tags=["health"])
READY_SECONDS = 2.0  # a store that answers later is not ready: whoever asks wants to know now
PROMETHEUS: dict[str, Any] = {"description": "Prometheus's text form.", "content": {"text/plain": {}}}


@routes.get("/health")
async def live() -> Health:
    """The server answers."""
    return Health()


@routes.get("/health/ready", responses={503: {"model": Readiness, "description": "Something is in the way."}})
async def ready(services: ServicesHere, response: Response) -> Readiness:
    """Whether a message would be answered, and what is in the way."""
    served = services.served
    reasons: list[str] = []
    if not services.warming.done:
        reasons.append("The server is warming up.")
    if services.runs.closing:
        reasons.append("The server is about to end.")
    if not len(served.crib.catalog):
        reasons.append("There are no tools.")
    try:
        async with asyncio.timeout(READY_SECONDS):
            await served.store.sessions(limit=1)
    except (ToolcribError, TimeoutError):  # its message names a path, which is nobody's business here
        reasons.append("The session store cannot be used.")
    response.status_code = 503 if reasons else 200
    return Readiness(
        status="not ready" if reasons else "ready",
        reasons=reasons,
        tools=len(served.crib.catalog),
        runs=len(services.runs),
        model=served.model,  # one that cannot be used has kept the server from starting
    )


@routes.get("/health/extraction", responses={503: {"model": ExtractionHealth, "description": "Some cannot be read."}})
async def extraction(services: ServicesHere, response: Response) -> ExtractionHealth:
    """Run the extraction of every tool that has one: on a real result where a call can do no harm and needs no
    arguments, else on a result made from what the tool says of itself."""
    found = await extraction_health(services.toolbox())
    response.status_code = 200 if found.status == "ok" else 503
    return found


@routes.get("/metrics", response_class=Response, responses={200: PROMETHEUS})
async def metrics(services: ServicesHere) -> Response:
    """Everything that is counted, for Prometheus."""
    services.metrics.tools.set(len(services.served.crib.catalog))
    return Response(services.metrics.text(), media_type=CONTENT_TYPE_LATEST)
