"""Around every answer: headers that keep browsers from harm, a line in the log, and the count for the metrics."""

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from opentelemetry.context import attach, detach
from opentelemetry.propagate import extract
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.server.metrics import OTHER, Metrics
from toolcrib.server.served import SITE

STATIC = "/static/"
logger = logging.getLogger(__name__)

# Nothing inline and nothing from elsewhere: whatever a tool or a model writes stays text.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# The site shows what an agent wrote: no scripts at all, and no pictures from elsewhere, whose addresses could tell
# others what was read here. Only our own page may frame it.
SITE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
_FOR_ALL = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class Access:
    """Stands around everything else."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(scope["path"], message)
                self._note(scope, message["status"], time.perf_counter() - began)
            await send(message)

        with _caller_trace(scope):
            await self._app(scope, receive, answered)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        self._metrics.answered(scope["method"], route, status, seconds)
        # The path alone: what stands behind the "?" may be a token.
        fields = {"method": scope["method"], "path": scope["path"], "status": status, "ms": round(seconds * 1000, 1)}
        logger.info("%s %s %s", scope["method"], scope["path"], status, extra={"fields": fields})


@contextmanager
def _caller_trace(scope: Scope) -> Generator[None]:
    """Let what happens inside belong to the trace that the caller names (`traceparent`), if it does."""
    headers = Headers(scope=scope)
    if "traceparent" not in headers:
        yield
        return
    mark = attach(extract(headers))
    try:
        yield
    finally:
        detach(mark)


def _add_headers(path: str, message: Message) -> None:
    headers = MutableHeaders(scope=message)
    on_site = f"{path}/".startswith(SITE)  # `/site` too
    for name, value in _FOR_ALL.items():
        headers.setdefault(name, value)
    headers["Content-Security-Policy"] = SITE_POLICY if on_site else PAGE_POLICY
    headers["X-Frame-Options"] = "SAMEORIGIN" if on_site else "DENY"
    headers.setdefault("Cache-Control", "no-cache" if path.startswith(STATIC) else "no-store")


def _route(scope: Scope) -> str:
    """The pattern that matched, so that ids make no labels of their own."""
    route: Any = scope.get("route")
    return str(getattr(route, "path", OTHER) or OTHER)
