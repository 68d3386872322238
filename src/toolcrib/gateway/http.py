"""The gateway over HTTP: who may come in is decided here, before a word of MCP is read.

A caller shows a token and has a rate; the host it names and the page it comes from must be ours. Everything else is the
SDK's: both protocols on one address, `/mcp`.
"""

import hashlib
import hmac
import logging
from urllib.parse import urlsplit

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from toolcrib.errors import GatewayError
from toolcrib.gateway.server import Gateway
from toolcrib.serving import Options, RateLimiter
from toolcrib.sources.web import keep_keys_out_of_logs

PATH = "/mcp"
HEALTH = "/health"
logger = logging.getLogger(__name__)


class Guard:
    """Stands before the SDK's app."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self._app = AuthContextMiddleware(app)
        self._options = options
        self._rates = RateLimiter(options.requests_per_second, options.burst)
        self._callers = [(_digest(secret), name) for secret, name in options.tokens.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            logger.info("%s %s refused: %d", scope["method"], scope["path"], refusal.status_code)
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        known, host = self._options.known_hosts, headers.get("host", "")
        if known is not None and _part(f"//{host}", "hostname") not in known:
            return _no(403, "This gateway is not called by that name. Allow it with --allow-host.")
        origin = headers.get("origin")
        if origin is not None and origin not in self._options.origins and _part(origin, "netloc") != host.casefold():
            return _no(403, "A page from elsewhere may not use this gateway. Allow it with --allow-origin.")
        if scope["path"] == HEALTH:
            return JSONResponse({"status": "ok"})
        caller = self._caller(headers)
        if caller is None:
            return _no(401, "A token is needed: `Authorization: Bearer ...`.", {"WWW-Authenticate": "Bearer"})
        seconds = self._rates.wait_for(caller)
        if seconds:
            return _no(429, "Too many requests.", {"Retry-After": str(max(1, round(seconds)))})
        # The SDK binds sessions to whoever opened them by this. The secret itself goes no further than here.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller, scopes=[]))
        return None

    def _caller(self, headers: Headers) -> str | None:
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        given = _digest(secret.strip()) if scheme.casefold() == "bearer" else b""
        found: str | None = None
        for digest, name in self._callers:  # all of them, each in the same time: nothing to be measured
            if hmac.compare_digest(given, digest):
                found = name
        return found


def http_app(gateway: Gateway, options: Options) -> ASGIApp:
    """The gateway as an ASGI app. It needs at least one token."""
    if not options.tokens:
        raise GatewayError("Over HTTP the gateway needs a token.", hint="Set TOOLCRIB_TOKEN, or give --token.")
    ours = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the guard has looked already
    inner = gateway.server.streamable_http_app(
        streamable_http_path=PATH, transport_security=ours, max_request_body_size=options.body_bytes
    )
    return Guard(inner, options)


def http_server(gateway: Gateway, options: Options) -> uvicorn.Server:
    """The server; `serve(sockets=[...])` runs it until a signal comes or `should_exit` is set."""
    keep_keys_out_of_logs()
    config = uvicorn.Config(
        http_app(gateway, options),
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=max(1, round(options.grace_seconds)),
    )
    return uvicorn.Server(config)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def _part(url: str, part: str) -> str:
    try:
        return str(getattr(urlsplit(url), part) or "").casefold()
    except ValueError:
        return ""


def _no(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": message}, status, headers)
