"""A server that listens: uvicorn around the app, ended by a signal, with time for what is under way."""

import socket

import uvicorn
from fastapi import FastAPI

from toolcrib.errors import ServerError
from toolcrib.server.options import Options

_WAITING = 512  # connections that nobody has answered yet


def taken_socket(options: Options) -> socket.socket:
    """The socket to listen on: from here on, whoever calls waits for the server to begin. Port 0 picks a free one."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((options.host, options.port))
        taken.listen(_WAITING)
    except (OSError, OverflowError) as error:
        taken.close()
        raise ServerError(
            f"The server cannot listen on {options.host}:{options.port}: {getattr(error, 'strerror', None) or error}.",
            hint="Choose another one with --port, or 0 for any that is free.",
        ) from error
    return taken


def address(options: Options, taken: socket.socket) -> str:
    """Where a browser finds it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(options.host, options.host)
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"http://{shown}:{taken.getsockname()[1]}/"


def server(app: FastAPI, options: Options) -> uvicorn.Server:
    """The server; `serve(sockets=[...])` runs it until a signal comes or `should_exit` is set."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=options.host,
            port=options.port,
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=max(1, round(options.grace_seconds)),
        )
    )


def listen(app: FastAPI, options: Options, taken: socket.socket) -> None:
    """Serve until a signal comes."""
    server(app, options).run(sockets=[taken])
