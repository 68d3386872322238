"""What a browser looks at: the page, its files, and the site that the agent works on."""

import asyncio
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

from toolcrib.server.house import HouseHere
from toolcrib.server.refusals import refused
from toolcrib.server.served import SITE
from toolcrib.server.shapes import AppShape

WEB = Path(__file__).with_name("web")

routes = APIRouter()


@routes.get("/api/app", tags=["app"])
async def app(house: HouseHere) -> AppShape:
    """What is served."""
    served = house.served
    return AppShape(
        name=served.name,
        mode=str(served.crib.mode),
        surface=served.surface,
        model=served.model,
        suggestions=list(served.suggestions),
        remarks=dict(served.remarks),
        site=SITE if served.site else None,
        version=served.version,
    )


@routes.get("/", include_in_schema=False)
async def page() -> Response:
    return FileResponse(WEB / "index.html", headers={"Cache-Control": "no-cache"})


@routes.get("/favicon.ico", include_in_schema=False)
async def icon() -> Response:
    return RedirectResponse("/static/favicon.svg")


@routes.get("/site", include_in_schema=False)
@routes.get("/site/{path:path}", include_in_schema=False)
async def site(request: Request, house: HouseHere) -> Response:
    """What visitors of the site see."""
    render = house.served.site
    if render is None:
        raise refused(404, "There is no site here.")
    query = f"?{request.url.query}" if request.url.query else ""
    answer = await asyncio.to_thread(render, f"{request.url.path}{query}")
    headers = {"Cache-Control": "no-cache"}
    return Response(answer.body, answer.status, headers, media_type=answer.content_type)
