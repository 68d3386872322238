"""A server that listens: uvicorn around the app, ended by a signal, with time for what is under way."""

import asyncio
import socket
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from toolcrib.server.options import Options
from toolcrib.server.runs import Runs

_LAST_WORDS_SECONDS = 2  # for answers under way when all runs are over
_LOOK_AGAIN_SECONDS = 0.1


class _Server(uvicorn.Server):
    """Lets runs come to their end before connections are closed: so do the streams that tell of them."""

    def __init__(self, config: uvicorn.Config, runs: Runs, grace_seconds: float) -> None:
        super().__init__(config)
        self._runs = runs
        self._grace_seconds = grace_seconds

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        closing = asyncio.create_task(self._runs.close(self._grace_seconds))
        while not closing.done():
            await asyncio.wait({closing}, timeout=_LOOK_AGAIN_SECONDS)
            if self.force_exit:  # Ctrl-C, a second time
                await self._runs.park()
        await super().shutdown(sockets)


def server(app: FastAPI, options: Options) -> uvicorn.Server:
    """The server; `run(sockets=[...])` serves until a signal comes or `should_exit` is set."""
    config = uvicorn.Config(
        app,
        host=options.host,
        port=options.port,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_LAST_WORDS_SECONDS,
    )
    return _Server(config, app.state.house.runs, options.grace_seconds)


def listen(app: FastAPI, options: Options, taken: socket.socket) -> None:
    """Serve until a signal comes; Ctrl-C is the way to end it, not an error."""
    with suppress(KeyboardInterrupt):
        server(app, options).run(sockets=[taken])
