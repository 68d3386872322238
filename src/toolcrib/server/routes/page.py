"""What a browser looks at: the page, its files, and the site that the agent works on."""

import asyncio
from itertools import islice
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

from toolcrib.server.middleware import LOGIN, http_error, is_https, remember_token
from toolcrib.server.schemas import AppShape, Login, Refusal
from toolcrib.server.services import SITE, Services, ServicesHere, is_harmless
from toolcrib.serving import TokenTable
from toolcrib.tools.tool import Tool

MOST_SUGGESTIONS = 4
MOST_TRIED = 3  # phrases of one tool
MOST_CANDIDATES = 100  # tools: the page waits for this once
SURE = 0.8
WEB = Path(__file__).parents[1] / "web"

routes = APIRouter()


@routes.get("/api/app", tags=["app"])
async def app(services: ServicesHere) -> AppShape:
    """What is served."""
    served = services.served
    remarks = dict(served.remarks)
    if not served.suggestions:
        remarks = await services.cached_by_revision("phrases", lambda: asyncio.to_thread(_own_phrases, services))
    return AppShape(
        name=served.name,
        mode=str(served.crib.mode),
        surface=served.surface,
        model=served.model,
        suggestions=list(served.suggestions or remarks),
        remarks=remarks,
        site=SITE if served.site else None,
        undo=served.content is not None,
        version=served.version,
    )


def _own_phrases(services: Services) -> dict[str, str]:
    """What to try where nobody said: how people ask for some tools that can do no harm, and their names.

    Only what works at once: the tool needs nothing more than these words, and they find it first.
    """
    toolbox = services.toolbox()
    able = [tool for tool in toolbox.tools if is_harmless(toolbox, tool) and not tool.parameters.get("required")]
    first_of = {tool.category: tool for tool in reversed(able)}
    firsts = [tool for tool in able if first_of[tool.category] is tool]
    others = [tool for tool in able if first_of[tool.category] is not tool]
    found = ((_finding(services, tool), tool.name) for tool in [*firsts, *others][:MOST_CANDIDATES])
    return dict(islice(((phrase, name) for phrase, name in found if phrase), MOST_SUGGESTIONS))


def _finding(services: Services, tool: Tool) -> str | None:
    """The first of a tool's phrases by which a search surely finds it."""
    for phrase in tool.phrases[:MOST_TRIED]:
        found = services.index.search(phrase, limit=1)
        if found.names == (tool.name,) and found.confidence >= SURE:
            return phrase
    return None


@routes.post(
    LOGIN,
    tags=["app"],
    status_code=204,
    response_description="A cookie that stands for the token was set.",
    responses={401: {"model": Refusal, "description": "This is not a token of this server."}},
)
async def log_in(login: Login, request: Request, services: ServicesHere) -> Response:
    """Give the token once: the browser's further requests carry a cookie instead."""
    response = Response(status_code=204)
    if services.options.tokens:
        if TokenTable(services.options.tokens).owner(login.token) is None:
            raise http_error(401, "This is not a token of this server.", "Ask whoever runs it for one.")
        remember_token(response, login.token, secure=is_https(request.scope, services.options))
    return response


@routes.get("/", include_in_schema=False)
async def page() -> Response:
    return FileResponse(WEB / "index.html", headers={"Cache-Control": "no-cache"})


@routes.get("/favicon.ico", include_in_schema=False)
async def icon() -> Response:
    return RedirectResponse("/static/favicon.svg")


@routes.get("/blog/{path:path}", include_in_schema=False)
@routes.get("/uploads/{path:path}", include_in_schema=False)
async def site_address(request: Request, services: ServicesHere) -> Response:
    """Addresses that a site's visitors expect at the root lead to the site."""
    if services.served.site is None:
        raise http_error(404, "There is no site here.")
    return RedirectResponse(request.url.replace(scheme="", netloc="", path=f"/site{request.url.path}"))


@routes.get("/site", include_in_schema=False)
@routes.get("/site/{path:path}", include_in_schema=False)
async def site(request: Request, services: ServicesHere) -> Response:
    """What visitors of the site see."""
    render = services.served.site
    if render is None:
        raise http_error(404, "There is no site here.")
    query = f"?{request.url.query}" if request.url.query else ""
    answer = await asyncio.to_thread(render, f"{request.url.path}{query}")
    headers = {"Cache-Control": "no-cache"}
    return Response(answer.body, answer.status, headers, media_type=answer.content_type)
