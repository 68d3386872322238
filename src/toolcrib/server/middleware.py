"""Who may ask: the host a request names, the page it comes from, the token it carries, how often, and how much it says.

All of it is decided before any route is looked for. The page has no way to send a header with everything it loads, so a
token in its first address, `/?token=...`, becomes a cookie that only this server's own pages send back.
"""

import hashlib
import hmac
import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from opentelemetry.context import attach, detach
from opentelemetry.propagate import extract
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.errors import (
    ConfirmationError,
    ServerBusyError,
    SessionBusyError,
    StoreError,
    ToolcribError,
    UnknownSessionError,
    UnknownToolError,
)
from toolcrib.server.metrics import OTHER, Metrics
from toolcrib.server.services import SITE
from toolcrib.serving import Options, RateLimiter

# Around every answer: headers that keep browsers from harm, a line in the log, and the count for the metrics.

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


# Errors as answers: `{"error": message, "hint": hint or null}`, with the status that fits.

logger = logging.getLogger(__name__)

STATUS: dict[type[ToolcribError], int] = {  # any other is 400
    UnknownSessionError: 404,
    UnknownToolError: 404,
    SessionBusyError: 409,
    ConfirmationError: 409,
    ServerBusyError: 503,
    StoreError: 503,
}


def answer(status: int, message: str, hint: str | None = None, headers: dict[str, str] | None = None) -> JSONResponse:
    """A refusal."""
    return JSONResponse({"error": message, "hint": hint}, status, headers)


def refused(status: int, message: str, hint: str | None = None) -> HTTPException:
    """The same, to be raised inside a route."""
    return HTTPException(status, {"error": message, "hint": hint})


def answer_errors(app: FastAPI) -> None:
    """Let every error of this app be answered in one form."""
    app.add_exception_handler(ToolcribError, _ours)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(StarletteHTTPException, _by_status)
    app.add_exception_handler(Exception, _unexpected)


async def _ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ToolcribError)
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 400)
    headers = {"Retry-After": "5"} if status == 503 else None
    return answer(status, str(error), error.hint, headers)


async def _unreadable(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = cast("dict[str, Any]", error.errors()[0])
    place = ".".join(str(step) for step in first["loc"] if step != "body")
    return answer(422, f"{place or 'The body'}: {first['msg']}.", "See /openapi.json for what is expected.")


async def _by_status(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StarletteHTTPException)
    headers = dict(error.headers or {})
    if isinstance(error, HTTPException) and isinstance(cast("object", error.detail), dict):
        said: dict[str, Any] = cast("Any", error.detail)
        return answer(error.status_code, said["error"], said["hint"], headers)
    message = f"{HTTPStatus(error.status_code).phrase}: {request.url.path}."
    return answer(error.status_code, message, None, headers)


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    logger.error("A request broke", exc_info=error)
    return answer(500, "The server made a mistake.", "The log has the details.")


# Told to anybody: they say nothing but whether the server is up, and what the page's files look like.
OPEN = ("/health", "/health/ready")
OPEN_BELOW = "/static/"
LIMITED_BELOW = ("/api/", "/agui", "/metrics", "/health/extraction")
_COOKIE_DAYS = 30


class Guard:
    """Stands before the app."""

    def __init__(self, app: ASGIApp, *, options: Options, metrics: Metrics) -> None:
        self._app = app
        self._options = options
        self._metrics = metrics
        self._rates = RateLimiter(options.requests_per_second, options.burst)
        self._tenants = [(_digest(secret), _cookie_value(secret), who) for secret, who in options.tokens.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._foreign(scope, headers) or self._unknown(scope, headers) or self._too_much(scope, headers)
        if refusal is not None:
            reason, response = refusal
            if reason:
                self._metrics.refused(reason)
            await response(scope, receive, send)
            return
        await self._app(scope, _counted(receive, self._options.body_bytes), send)

    def _foreign(self, scope: Scope, headers: Headers) -> tuple[str, Response] | None:
        """A request that another site has a hand in."""
        host = headers.get("host", "")
        known = self._options.known_hosts
        if known is not None and _name(host) not in known and scope["path"] not in OPEN:
            hint = "Open it by the address that was printed, or allow the name with --allow-host."
            return "host", answer(403, f"This server is not called {_name(host)!r}.", hint)
        origin = headers.get("origin")
        if origin is not None and origin not in self._options.origins and not _is_own(origin, host):
            return "origin", answer(403, "Another page may not use this server.", "Allow it with --allow-origin.")
        # Browsers that send no Origin, with a form or for a picture, still say where it comes from. Such a page could
        # not read the answer, but it could make the server work. Links that lead to the page and the site are welcome.
        elsewhere = headers.get("sec-fetch-site", "none") in ("cross-site", "same-site") and origin is None
        if elsewhere and (scope["method"] not in ("GET", "HEAD") or scope["path"].startswith(LIMITED_BELOW)):
            return "origin", answer(403, "Another page may not use this server.", "Allow it with --allow-origin.")
        return None

    def _unknown(self, scope: Scope, headers: Headers) -> tuple[str, Response] | None:
        """A request without the token that it needs; with it, the tenant is noted."""
        state = scope.setdefault("state", {})
        state["tenant"] = ""
        if not self._tenants or scope["path"] in OPEN or scope["path"].startswith(OPEN_BELOW):
            return None
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and asked and (cookie := self._cookie_for(asked)):
            response = RedirectResponse("/", 303)  # so that the token stays in no address
            name, value = cookie
            secure = self._scheme(scope, headers) == "https"
            response.set_cookie(
                name, value, max_age=_COOKIE_DAYS * 86_400, httponly=True, samesite="strict", secure=secure
            )
            return "", response
        tenant = self._tenant(headers)
        if tenant is not None:
            state["tenant"] = tenant
            return None
        if too_often := self._too_often(scope, None):  # nobody guesses a token by trying all
            return too_often
        hint = "Send it as `Authorization: Bearer ...`, or open /?token=... in a browser."
        return "token", answer(401, "A token is needed.", hint, {"WWW-Authenticate": "Bearer"})

    def _too_much(self, scope: Scope, headers: Headers) -> tuple[str, Response] | None:
        said = headers.get("content-length", "0")
        if said.isdigit() and int(said) > self._options.body_bytes:
            return "size", answer(413, *_too_large(self._options.body_bytes))
        if scope["path"].startswith(LIMITED_BELOW):
            return self._too_often(scope, scope["state"]["tenant"])
        return None

    def _too_often(self, scope: Scope, tenant: str | None) -> tuple[str, Response] | None:
        seconds = self._rates.wait_for((tenant, self._caller(scope)))
        if not seconds:
            return None
        retry = {"Retry-After": str(max(1, round(seconds)))}
        return "rate", answer(429, "Too many requests.", "Wait a little, then try again.", retry)

    def _scheme(self, scope: Scope, headers: Headers) -> str:
        """How the browser got here; a proxy of ours ends TLS, and says so. Others could say anything."""
        told = headers.get("x-forwarded-proto", "") if self._options.behind_proxy else ""
        return told.rpartition(",")[2].strip().casefold() or scope.get("scheme", "http")

    def _caller(self, scope: Scope) -> str:
        """Whose bucket it is: the address that our proxy added last, else the one that is connected."""
        told = Headers(scope=scope).getlist("x-forwarded-for") if self._options.behind_proxy else []
        client = scope.get("client")
        return told[-1].rpartition(",")[2].strip() if told else client[0] if client else ""

    def _tenant(self, headers: Headers) -> str | None:
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        given = _digest(secret.strip()) if scheme.casefold() == "bearer" else b""
        cookies = _cookies(headers.get("cookie", ""))
        found: str | None = None
        for digest, value, tenant in self._tenants:  # all of them, each in the same time: nothing to be measured
            by_header = hmac.compare_digest(given, digest)
            by_cookie = hmac.compare_digest(cookies.get(_cookie_name(value), "").encode(), value.encode())
            if by_header or by_cookie:
                found = tenant
        return found

    def _cookie_for(self, secret: str) -> tuple[str, str] | None:
        given, found = _digest(secret), None
        for digest, value, _ in self._tenants:
            if hmac.compare_digest(given, digest):
                found = _cookie_name(value), value
        return found


def _digest(secret: str) -> bytes:
    """Of one length, whatever was given."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def _cookie_value(secret: str) -> str:
    """What a browser keeps: it opens this server, and does not tell the token."""
    return hmac.new(secret.encode(), b"toolcrib page", hashlib.sha256).hexdigest()


def _cookie_name(value: str) -> str:
    """Browsers share cookies between the ports of a host: two servers must not take each other's."""
    return f"toolcrib_{hashlib.sha256(value.encode()).hexdigest()[:8]}"


def _cookies(text: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(text).items()}
    except CookieError:
        return {}


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").casefold()
    except ValueError:
        return ""


def _is_own(origin: str, host: str) -> bool:
    """Whether a page of ours asks: its address begins with the name by which it calls us."""
    try:
        return bool(host) and urlsplit(origin).netloc.casefold() == host.casefold()
    except ValueError:
        return False


def _too_large(most: int) -> tuple[str, str]:
    return f"The request is larger than {most:,} bytes.", "Send less."


def _counted(receive: Receive, most: int) -> Receive:
    """The body, cut off where it becomes too large: a length need not be told beforehand, or be true."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise refused(413, *_too_large(most))
        return message

    return counted
