"""The HTTP app: routes, guards and the runs behind them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from toolcrib.server import (
    agui,
    health_routes,
    page_routes,
    run_routes,
    search_routes,
    session_routes,
    tool_routes,
)
from toolcrib.server.access import Access
from toolcrib.server.guard import Guard
from toolcrib.server.house import House
from toolcrib.server.metrics import Metrics
from toolcrib.server.options import Options
from toolcrib.server.refusals import answer_errors
from toolcrib.server.runs import Runs
from toolcrib.server.served import Served
from toolcrib.server.shapes import Refusal
from toolcrib.server.warming import Warming

ABOUT = """\
An agent and its tools over HTTP. Say something with `POST /api/sessions/{id}/messages`: what happens comes back as
server-sent events. Errors are `{"error": ..., "hint": ...}`.
"""


def create_app(served: Served, options: Options | None = None) -> FastAPI:
    """An ASGI app. When it ends, runs are given `grace_seconds` to finish, and are parked after that."""
    options = options or Options()
    metrics = Metrics(is_tool=lambda name: name in served.crib.catalog)
    house = House(
        served=served,
        options=options,
        runs=Runs(most=options.most_runs, watch=metrics),
        metrics=metrics,
        warming=Warming(served.crib, wanted=options.warm_up),
    )

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncGenerator[None]:
        house.runs.closing = False
        async with AsyncExitStack() as opened:
            for one in (served.store, served.crib.thinker, *served.opens):
                await opened.enter_async_context(one)
            warming = asyncio.create_task(house.warming())
            yield
            await asyncio.wait({warming})
            await house.runs.close(options.grace_seconds)

    app = FastAPI(
        title=served.name,
        version=served.version,
        description=ABOUT,
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        lifespan=life,
        responses={422: {"model": Refusal, "description": "The request cannot be read."}},
        middleware=[
            Middleware(Access, metrics=metrics),
            *([Middleware(CORSMiddleware, **_pages_allowed(options))] if options.origins else ()),
            Middleware(Guard, options=options, metrics=metrics),
        ],
    )
    app.state.house = house
    for part in (page_routes, session_routes, run_routes, tool_routes, search_routes, health_routes, agui):
        app.include_router(part.routes)
    app.mount("/static", StaticFiles(directory=page_routes.WEB, check_dir=False), name="static")
    answer_errors(app)
    return app


def _pages_allowed(options: Options) -> dict[str, Any]:
    """What browsers must hear before pages elsewhere may read our answers. They bring the token, not the cookie."""
    return {
        "allow_origins": sorted(options.origins),
        "allow_methods": ["GET", "POST", "DELETE"],
        "allow_headers": ["Authorization", "Content-Type", "Last-Event-ID", "Traceparent"],
    }
