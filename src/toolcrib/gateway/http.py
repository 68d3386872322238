"""The gateway over HTTP: checks host, origin, token and rate before the MCP SDK reads a request.

Everything else is the SDK's: both protocols on one path, `/mcp`.
"""

import logging
from dataclasses import replace

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from toolcrib._connections import Connections, LimitedServer
from toolcrib.credentials import LOCAL as LOCAL_USER
from toolcrib.errors import GatewayError
from toolcrib.gateway.clients import Caller, CallerToken
from toolcrib.gateway.oauth import METADATA, NEEDED, RETRY_SECONDS, OAuthSpec, Refusal, ResourceServer
from toolcrib.gateway.server import Gateway
from toolcrib.gateway.status import prometheus, status_of
from toolcrib.serving import BACKLOG, Options, RateLimiter, TokenTable, retry_after
from toolcrib.sources.web import keep_keys_out_of_logs

PATH = "/mcp"
HEALTH = "/health"
STATUS = "/status"
METRICS = "/metrics"
UNNAMED = "http"  # who has a token without a name: whoever runs the gateway
logger = logging.getLogger(__name__)


class Guard:
    """Middleware that refuses requests before they reach the SDK's app, and says how the gateway is."""

    def __init__(self, app: ASGIApp, options: Options, gateway: Gateway, oauth: ResourceServer | None) -> None:
        self._app = AuthContextMiddleware(app)
        self._gateway = gateway
        self._options = options
        self._oauth = oauth
        self._metadata = Router(oauth.routes()) if oauth else None
        self._rates = RateLimiter(options.requests_per_second, options.burst)
        self._tokens = TokenTable(options.tokens)
        self._names = frozenset(options.tokens.values())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = await self._answer(scope)
        if isinstance(answer, Response) and answer.status_code >= 400:
            logger.info("%s %s refused: %d", scope["method"], scope["path"], answer.status_code)
        await (answer or self._app)(scope, receive, send)

    async def _answer(self, scope: Scope) -> ASGIApp | None:
        """The answer to a request that is refused, or that is not MCP; None lets it through."""
        headers = Headers(scope=scope)
        host, origin, path = headers.get("host", ""), headers.get("origin"), str(scope["path"])
        if not self._options.allows_host(host):
            return _error(403, "This host name is not allowed. Allow it with --allow-host.")
        if self._metadata is not None and path.startswith(METADATA):
            return self._metadata  # for everybody, from any page
        if origin is not None and not self._options.allows_origin(origin, host):
            return _error(403, "This origin is not allowed. Allow it with --allow-origin.")
        if path == HEALTH:
            return JSONResponse({"status": "ok"})
        profile = path.removeprefix(f"{PATH}/") if path.startswith(f"{PATH}/") else None
        caller = await self._caller(headers.get("authorization", ""), profile)
        if isinstance(caller, Refusal):
            return self._refused(caller, profile)
        seconds = self._rates.wait_for(caller.name)
        if seconds:
            return _error(429, "Too many requests.", retry_after(seconds))
        if profile is not None and profile not in self._gateway.profiles:
            return _error(404, f"There is no profile {profile[:80]!r}.")
        if not self._gateway.profile_of(caller).admits(caller.name, caller.role or ""):
            return _error(403, "This token is for other profiles of the gateway.")
        if path in (STATUS, METRICS) and caller.token is not None:
            return _error(403, "Only a token that was set by hand shows this.")
        if path == STATUS:
            return JSONResponse(status_of(self._gateway))
        if path == METRICS:
            return Response(prometheus(status_of(self._gateway)), media_type="text/plain; version=0.0.4")
        if profile is not None:
            scope["path"], scope["raw_path"] = PATH, PATH.encode()
        scope["user"] = AuthenticatedUser(CallerToken.of(caller))  # the SDK binds sessions to this user
        return None

    async def _caller(self, authorization: str, profile: str | None) -> Caller | Refusal:
        """Who has the token of an Authorization header."""
        name = self._tokens.bearer(authorization)
        if name is not None:
            return Caller(name=name, role=name, user=LOCAL_USER if name == UNNAMED else name, profile=profile)
        scheme, _, token = authorization.partition(" ")
        if self._oauth is None or scheme.casefold() != "bearer" or not token.strip():
            return NEEDED
        known = profile if profile in self._gateway.profiles else None
        caller = await self._oauth.caller(token.strip(), known)
        if isinstance(caller, Caller) and caller.user in self._names:
            return Refusal(403, "access_denied", "This user has the name of a token that was set by hand.")
        return replace(caller, profile=profile) if isinstance(caller, Caller) else caller

    def _refused(self, refusal: Refusal, profile: str | None) -> Response:
        if refusal.status >= 500:
            return _error(refusal.status, refusal.message, retry_after(RETRY_SECONDS))
        known = profile if profile in self._gateway.profiles else None
        challenge = self._oauth.challenge(refusal, known) if self._oauth else "Bearer"
        return _error(refusal.status, refusal.message, {"WWW-Authenticate": challenge})


def http_app(gateway: Gateway, options: Options, oauth: OAuthSpec | None = None) -> ASGIApp:
    """The gateway as an ASGI app. It needs at least one token, or an authorization server."""
    if not options.tokens and oauth is None:
        raise GatewayError("Over HTTP the gateway needs a token.", hint="Set TOOLCRIB_TOKEN, or give --token.")
    no_host_check = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # `Guard` has checked the host
    inner = gateway.server.streamable_http_app(
        streamable_http_path=PATH, transport_security=no_host_check, max_request_body_size=options.body_bytes
    )
    server = ResourceServer(oauth, path=PATH, profiles=gateway.profiles) if oauth else None
    return Guard(inner, options, gateway, server)


def http_server(gateway: Gateway, options: Options, oauth: OAuthSpec | None = None) -> uvicorn.Server:
    """The server; `serve(sockets=[...])` runs it until a signal or `should_exit`."""
    keep_keys_out_of_logs()
    config = uvicorn.Config(
        http_app(gateway, options, oauth),
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=max(1, round(options.grace_seconds)),
    )
    limits = Connections(
        most=options.most_connections, header_seconds=options.header_seconds, idle_seconds=options.idle_seconds
    )
    return LimitedServer(config, limits, backlog=BACKLOG)


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": message}, status, headers)
