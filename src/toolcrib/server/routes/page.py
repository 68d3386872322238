"""What a browser looks at: the page, its files, and the site that the agent works on."""

import asyncio
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

from toolcrib.server.middleware import LOGIN, http_error, is_https, remember_token
from toolcrib.server.schemas import AppShape, Login, Refusal
from toolcrib.server.services import SITE, Services, ServicesHere, is_harmless
from toolcrib.serving import TokenTable

MOST_SUGGESTIONS = 4
WEB = Path(__file__).parents[1] / "web"

routes = APIRouter()


@routes.get("/api/app", tags=["app"])
async def app(services: ServicesHere) -> AppShape:
    """What is served."""
    served = services.served
    remarks = dict(served.remarks) if served.suggestions else _own_phrases(services)
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
    """What to try where nobody said: how people ask for some tools that can do no harm, and their names."""
    toolbox = services.toolbox()
    harmless = [tool for tool in toolbox.tools if tool.phrases and is_harmless(toolbox, tool)]
    first_of = {tool.category: tool for tool in reversed(harmless)}
    firsts = [tool for tool in harmless if first_of[tool.category] is tool]
    others = [tool for tool in harmless if first_of[tool.category] is not tool]
    return {tool.phrases[0]: tool.name for tool in [*firsts, *others][:MOST_SUGGESTIONS]}


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
