"""Whether the server lives, can work, and understands what its tools give; and its metrics."""

from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from toolcrib.errors import ToolcribError
from toolcrib.server.extraction_health import extraction_health
from toolcrib.server.house import HouseHere
from toolcrib.server.shapes import ExtractionHealth, Health, Readiness

routes = APIRouter(tags=["health"])
PROMETHEUS: dict[str, Any] = {"description": "Prometheus's text form.", "content": {"text/plain": {}}}


@routes.get("/health")
async def live() -> Health:
    """The server answers."""
    return Health()


@routes.get("/health/ready", responses={503: {"model": Readiness, "description": "Something is in the way."}})
async def ready(house: HouseHere, response: Response) -> Readiness:
    """Whether a message would be answered, and what is in the way."""
    served = house.served
    reasons: list[str] = []
    if not house.warming.done:
        reasons.append("The server is warming up.")
    if house.runs.closing:
        reasons.append("The server is about to end.")
    if not len(served.crib.catalog):
        reasons.append("There are no tools.")
    try:
        await served.store.sessions(limit=1)
    except ToolcribError:  # its message names a path, which is nobody's business here
        reasons.append("The session store cannot be used.")
    response.status_code = 503 if reasons else 200
    return Readiness(
        status="not ready" if reasons else "ready",
        reasons=reasons,
        tools=len(served.crib.catalog),
        runs=len(house.runs),
        model=served.model,  # one that cannot be used has kept the server from starting
    )


@routes.get("/health/extraction", responses={503: {"model": ExtractionHealth, "description": "Some cannot be read."}})
async def extraction(house: HouseHere, response: Response) -> ExtractionHealth:
    """Run the extraction of every tool that has one: on a real result where a call can do no harm and needs no
    arguments, else on a result made from what the tool says of itself."""
    found = await extraction_health(house.toolbox())
    response.status_code = 200 if found.status == "ok" else 503
    return found


@routes.get("/metrics", response_class=Response, responses={200: PROMETHEUS})
async def metrics(house: HouseHere) -> Response:
    """Everything that is counted, for Prometheus."""
    house.metrics.tools.set(len(house.served.crib.catalog))
    return Response(house.metrics.text(), media_type=CONTENT_TYPE_LATEST)
