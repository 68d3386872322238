"""The HTTP app (`create_app`) and the uvicorn server that runs it (`listen`)."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from toolcrib._connections import Connections, LimitedServer
from toolcrib.server import agui
from toolcrib.server.metrics import Metrics
from toolcrib.server.middleware import Access, Guard, handle_errors
from toolcrib.server.routes import (
    changes as change_routes,
    docs as docs_routes,
    health as health_routes,
    models as model_routes,
    page as page_routes,
    runs as run_routes,
    sessions as session_routes,
    tools as tool_routes,
)
from toolcrib.server.runs import Runs
from toolcrib.server.schemas import Refusal
from toolcrib.server.services import Served, Services, Warmup
from toolcrib.serving import BACKLOG, Options

_CLOSE_SECONDS = 2  # for responses that are not complete when all runs have ended
_POLL_SECONDS = 0.1
ABOUT = """\
An agent and its tools over HTTP. Send a message with `POST /api/sessions/{id}/messages`; the response streams the
events of the run as server-sent events. Errors are `{"error": ..., "hint": ...}`.
"""


def create_app(served: Served, options: Options | None = None) -> FastAPI:
    """An ASGI app. At shutdown, runs have `grace_seconds` to finish; then they are stopped, and their work is kept."""
    options = options or Options()
    metrics = Metrics(is_tool=lambda name: name in served.crib.catalog)
    runs = Runs(most=options.most_runs, longest_wait_seconds=options.longest_wait_seconds, metrics=metrics)
    services = Services(
        served=served,
        options=options,
        runs=runs,
        metrics=metrics,
        warming=Warmup(served.crib, runs.load, enabled=options.warm_up),
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        services.runs.closing = False
        async with AsyncExitStack() as stack:
            for resource in (served.store, served.crib.llm, *served.opens):
                await stack.enter_async_context(resource)
            stack.push_async_callback(services.chosen_models.aclose)
            warming, watching = asyncio.create_task(services.warming()), asyncio.create_task(runs.load.watch())
            stack.callback(watching.cancel)
            yield
            await asyncio.wait({warming})
            await services.runs.close(options.grace_seconds)

    app = FastAPI(
        title=served.name,
        version=served.version,
        description=ABOUT,
        docs_url=None,  # FastAPI's pages load scripts from other sites
        redoc_url=None,
        lifespan=lifespan,
        responses={422: {"model": Refusal, "description": "The request is invalid."}},
        middleware=[
            Middleware(Access, metrics=metrics),
            *([Middleware(CORSMiddleware, **_cors_settings(options))] if options.origins else ()),
            Middleware(Guard, options=options, metrics=metrics),
        ],
    )
    app.state.services = services
    modules = (
        page_routes, session_routes, run_routes, change_routes, tool_routes, model_routes, health_routes, agui,
    )  # fmt: skip
    for module in modules:
        app.include_router(module.routes)
    app.include_router(tool_routes.search_routes)
    app.mount("/static", StaticFiles(directory=page_routes.WEB, check_dir=False), name="static")
    app.include_router(docs_routes.routes)
    app.openapi = partial(docs_routes.describe, app, needs_token=bool(options.tokens))
    handle_errors(app)
    return app


def _cors_settings(options: Options) -> dict[str, Any]:
    """CORS settings for the allowed origins. Their pages send the token, not the cookie."""
    return {
        "allow_origins": sorted(options.origins),
        "allow_methods": ["GET", "POST", "PATCH", "DELETE"],
        "allow_headers": ["Authorization", "Content-Type", "Last-Event-ID", "Traceparent"],
    }


def listen(app: FastAPI, options: Options, bound: socket.socket) -> None:
    """Serve until a signal arrives. Ctrl-C ends the server without an error."""
    with suppress(KeyboardInterrupt):
        server(app, options).run(sockets=[bound])


def server(app: FastAPI, options: Options) -> uvicorn.Server:
    """The server; `run(sockets=[...])` serves until a signal or `should_exit`."""
    config = uvicorn.Config(
        app,
        ws="none",
        host=options.host,
        port=options.port,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_CLOSE_SECONDS,
    )
    return _Server(config, options, app.state.services.runs)


class _Server(LimitedServer):
    """Lets runs finish before it closes connections, so that the streams that follow them end properly."""

    def __init__(self, config: uvicorn.Config, options: Options, runs: Runs) -> None:
        limits = Connections(
            most=options.most_connections, header_seconds=options.header_seconds, idle_seconds=options.idle_seconds
        )
        super().__init__(config, limits, backlog=BACKLOG)
        self._runs = runs
        self._grace_seconds = options.grace_seconds

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        closing = asyncio.create_task(self._runs.close(self._grace_seconds))
        while not closing.done():
            await asyncio.wait({closing}, timeout=_POLL_SECONDS)
            if self.force_exit:  # a second Ctrl-C
                await self._runs.stop_all()
        await super().shutdown(sockets)
