"""The port a door listens on, taken before anything else is done; no web framework, so both doors take theirs alike."""

import socket

from toolcrib.errors import ServerError
from toolcrib.server.options import Options

_WAITING = 512  # connections that nobody has answered yet


def taken_socket(options: Options, *, flag: str = "--port") -> socket.socket:
    """The socket to listen on: from here on, whoever calls waits for the server to begin. Port 0 picks a free one.

    `flag` is how the person who started it chooses another port.
    """
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # With the protocol named, asyncio switches Nagle's algorithm off; without, every answer waits 40 ms for the next.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((options.host, options.port))
        taken.listen(_WAITING)
    except (OSError, OverflowError) as error:
        taken.close()
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise ServerError(
            f"Cannot listen on {options.host}:{options.port}: {reason}.",
            hint=f"Choose another port with {flag}, or 0 for any that is free.",
        ) from error
    return taken


def address(options: Options, taken: socket.socket, path: str = "/") -> str:
    """Where a browser or a client on this machine finds it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{taken.getsockname()[1]}{path}"
