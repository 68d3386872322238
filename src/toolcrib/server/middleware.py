"""What happens around every route: response headers and the access log, who may call, and errors as JSON.

`Access` is outermost, then `Guard`, which checks host, origin, token, size and rate before any route is looked up. A
browser cannot send a header with everything that a page loads, so a token in the first URL, `/?token=...`, becomes a
cookie that only this server's own pages send back.
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
from urllib.parse import parse_qs

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
from toolcrib.serving import Options, RateLimiter, TokenTable, host_name, retry_after

logger = logging.getLogger(__name__)

# Open to everybody: these show only whether the server is up, and the files of the page.
OPEN = ("/health", "/health/ready")
STATIC = "/static/"
PAGE = "/"  # without a token it shows where to give one
LOGIN = "/api/login"
LIMITED_BELOW = ("/api/", "/agui", "/metrics", "/health/extraction", "/docs")
_COOKIE_DAYS = 30

# Nothing inline and nothing foreign: whatever a tool or a model writes stays text.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# The site shows what an agent wrote: no scripts at all, and no foreign images, whose URLs could leak what was read
# here. Only our own page may frame it.
SITE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
_SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class Access:
    """Adds security headers, logs each request, and counts it for the metrics."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def send_and_record(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(scope["path"], message)
                self._record(scope, message["status"], time.perf_counter() - began)
            await send(message)

        with _caller_trace(scope):
            await self._app(scope, receive, send_and_record)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        self._metrics.answered(scope["method"], route, status, seconds)
        # Without the query string: it may hold a token.
        fields = {"method": scope["method"], "path": scope["path"], "status": status, "ms": round(seconds * 1000, 1)}
        logger.info("%s %s %s", scope["method"], scope["path"], status, extra={"fields": fields})


@contextmanager
def _caller_trace(scope: Scope) -> Generator[None]:
    """Continue the trace that the caller names in `traceparent`, if any."""
    headers = Headers(scope=scope)
    if "traceparent" not in headers:
        yield
        return
    token = attach(extract(headers))
    try:
        yield
    finally:
        detach(token)


def _add_headers(path: str, message: Message) -> None:
    headers = MutableHeaders(scope=message)
    on_site = f"{path}/".startswith(SITE)  # `/site` too
    for name, value in _SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    headers["Content-Security-Policy"] = SITE_POLICY if on_site else PAGE_POLICY
    headers["X-Frame-Options"] = "SAMEORIGIN" if on_site else "DENY"
    headers.setdefault("Cache-Control", "no-cache" if path.startswith(STATIC) else "no-store")


def _route(scope: Scope) -> str:
    """The pattern of the route, so that ids do not become metric labels."""
    route: Any = scope.get("route")
    return str(getattr(route, "path", OTHER) or OTHER)


class Guard:
    """Refuses requests before any route is looked up."""

    def __init__(self, app: ASGIApp, *, options: Options, metrics: Metrics) -> None:
        self._app = app
        self._options = options
        self._metrics = metrics
        self._rates = RateLimiter(options.requests_per_second, options.burst)
        self._tokens = TokenTable(options.tokens)
        self._tenant_by_cookie = {_cookie_value(secret): tenant for secret, tenant in options.tokens.items()}

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
        await self._app(scope, _limited(receive, self._options.body_bytes), send)

    def _foreign(self, scope: Scope, headers: Headers) -> tuple[str, Response] | None:
        """Refuses requests that come from another site."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._options.allows_host(host) and scope["path"] not in OPEN:
            hint = "Use the address that the server printed at startup, or allow the name with --allow-host."
            return "host", error_response(
                403, f"This server does not answer to the host name {host_name(host)!r}.", hint
            )
        if origin is not None and not self._options.allows_origin(origin, host):
            return "origin", _foreign_page()
        # Browsers send no Origin with some forms and images, but they send Sec-Fetch-Site. A foreign page could not
        # read the response, but it could make the server work. Links to the page and to the site are fine.
        cross_site = headers.get("sec-fetch-site", "none") in ("cross-site", "same-site") and origin is None
        if cross_site and (scope["method"] not in ("GET", "HEAD") or scope["path"].startswith(LIMITED_BELOW)):
            return "origin", _foreign_page()
        return None

    def _unknown(self, scope: Scope, headers: Headers) -> tuple[str, Response] | None:
        """Refuses requests without a valid token; with one, the tenant goes into the request's state."""
        state = scope.setdefault("state", {})
        state["tenant"] = ""
        if not self._options.tokens or scope["path"] in OPEN or scope["path"].startswith(STATIC):
            return None
        secret = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if scope["path"] == PAGE and secret and self._tokens.owner(secret) is not None:
            response = RedirectResponse(PAGE, 303)
            remember_token(response, secret, secure=is_https(scope, self._options))
            return "", response
        tenant = self._tokens.bearer(headers.get("authorization", ""))
        if tenant is None:
            tenant = self._cookie_tenant(headers)
        if tenant is not None:
            state["tenant"] = tenant
            return None
        if scope["path"] == PAGE and not secret:
            return None
        if too_often := self._too_often(scope, None):  # tokens cannot be guessed by brute force
            return too_often
        if scope["path"] in (PAGE, LOGIN):
            return None
        hint = "Send it as `Authorization: Bearer ...`, or open /?token=... in a browser."
        return "token", error_response(401, "A token is required.", hint, {"WWW-Authenticate": "Bearer"})

    def _too_much(self, scope: Scope, headers: Headers) -> tuple[str, Response] | None:
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._options.body_bytes:
            return "size", error_response(413, *_too_large(self._options.body_bytes))
        if scope["path"].startswith(LIMITED_BELOW):
            return self._too_often(scope, scope["state"]["tenant"])
        return None

    def _too_often(self, scope: Scope, tenant: str | None) -> tuple[str, Response] | None:
        seconds = self._rates.wait_for((tenant, self._caller(scope)))
        if not seconds:
            return None
        hint = "Wait a little, then try again."
        return "rate", error_response(429, "Too many requests.", hint, retry_after(seconds))

    def _caller(self, scope: Scope) -> str:
        """The client's address for rate limits: the one that our proxy added last, else that of the connection."""
        forwarded = Headers(scope=scope).getlist("x-forwarded-for") if self._options.behind_proxy else []
        client = scope.get("client")
        return forwarded[-1].rpartition(",")[2].strip() if forwarded else client[0] if client else ""

    def _cookie_tenant(self, headers: Headers) -> str | None:
        cookies = _cookies(headers.get("cookie", ""))
        found: str | None = None
        for value, tenant in self._tenant_by_cookie.items():  # all of them: stopping early would be measurable
            if hmac.compare_digest(cookies.get(_cookie_name(value), "").encode(), value.encode()):
                found = tenant
        return found


def is_https(scope: Scope, options: Options) -> bool:
    """Whether the caller uses HTTPS; only a proxy that the operator trusts may state it in a header."""
    forwarded = Headers(scope=scope).get("x-forwarded-proto", "") if options.behind_proxy else ""
    return (forwarded.rpartition(",")[2].strip().casefold() or scope.get("scheme", "http")) == "https"


def remember_token(response: Response, secret: str, *, secure: bool) -> None:
    """Let the caller's browser send a cookie that stands for the token."""
    value = _cookie_value(secret)
    response.set_cookie(
        _cookie_name(value), value, max_age=_COOKIE_DAYS * 86_400, httponly=True, samesite="strict", secure=secure
    )


def _foreign_page() -> Response:
    return error_response(403, "Pages of other sites may not use this server.", "Allow the site with --allow-origin.")


def _cookie_value(secret: str) -> str:
    """The value of a browser's cookie; the token cannot be computed from it."""
    return hmac.new(secret.encode(), b"toolcrib page", hashlib.sha256).hexdigest()


def _cookie_name(value: str) -> str:
    """A name per token: browsers share cookies between the ports of a host, and two servers must not overwrite them."""
    return f"toolcrib_{hashlib.sha256(value.encode()).hexdigest()[:8]}"


def _cookies(text: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(text).items()}
    except CookieError:
        return {}


def _too_large(limit: int) -> tuple[str, str]:
    return f"The request is larger than {limit:,} bytes.", "Send a smaller request."


def _limited(receive: Receive, limit: int) -> Receive:
    """The body, cut off at a limit: the Content-Length header may be missing or wrong."""
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise http_error(413, *_too_large(limit))
        return message

    return limited


STATUS: dict[type[ToolcribError], int] = {  # any other is 400
    UnknownSessionError: 404,
    UnknownToolError: 404,
    SessionBusyError: 409,
    ConfirmationError: 409,
    ServerBusyError: 503,
    StoreError: 503,
}


def error_response(
    status: int, message: str, hint: str | None = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    """An error response: `{"error": message, "hint": hint or null}`."""
    return JSONResponse({"error": message, "hint": hint}, status, headers)


def http_error(status: int, message: str, hint: str | None = None) -> HTTPException:
    """The same as an exception, for routes to raise."""
    return HTTPException(status, {"error": message, "hint": hint})


def handle_errors(app: FastAPI) -> None:
    """Render every error of an app as `error_response` does."""
    app.add_exception_handler(ToolcribError, _toolcrib_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(StarletteHTTPException, _http_status)
    app.add_exception_handler(Exception, _unexpected_error)


async def _toolcrib_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ToolcribError)
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 400)
    seconds = error.retry_seconds if isinstance(error, ServerBusyError) else 5
    headers = retry_after(seconds) if status == 503 else None
    if error.public != str(error):
        logger.error("The session store cannot be used: %s", error)
    return error_response(status, error.public, error.hint, headers)


async def _invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = cast("dict[str, Any]", error.errors()[0])
    place = ".".join(str(step) for step in first["loc"] if step != "body")
    subject = "This text" if place in ("", "text") else f"{place!r}"
    if first["type"] in ("blank", "string_too_short"):
        return error_response(422, f"{subject} is empty.", "Write what should be done.")
    if first["type"] == "string_too_long":
        most = first["ctx"]["max_length"]
        message = f"{subject} is too long ({len(first['input']):,} of {most:,} characters)."
        return error_response(422, message, "Send it in parts.")
    return error_response(422, f"{place or 'The body'}: {first['msg']}.", "What is expected: /docs.")


async def _http_status(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StarletteHTTPException)
    headers = dict(error.headers or {})
    if isinstance(error, HTTPException) and isinstance(cast("object", error.detail), dict):
        detail: dict[str, Any] = cast("Any", error.detail)
        return error_response(error.status_code, detail["error"], detail["hint"], headers)
    message = f"{HTTPStatus(error.status_code).phrase}: {request.url.path}."
    return error_response(error.status_code, message, None, headers)


async def _unexpected_error(request: Request, error: Exception) -> JSONResponse:
    logger.error("A request failed unexpectedly", exc_info=error)
    return error_response(500, "Internal server error.", "The log has the details.")
