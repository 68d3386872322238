"""Who may ask: the host a request names, the page it comes from, the token it carries, how often, and how much it says.

All of it is decided before any route is looked for. The page has no way to send a header with everything it loads, so a
token in its first address, `/?token=...`, becomes a cookie that only this server's own pages send back.
"""

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.server.metrics import Metrics
from toolcrib.server.options import Options
from toolcrib.server.rates import Rates
from toolcrib.server.refusals import answer, refused

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
        self._rates = Rates(options.requests_per_second, options.burst)
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
