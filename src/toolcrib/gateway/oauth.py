"""The gateway as a resource server: callers with tokens of an authorization server (OAuth 2.1, as MCP wants it).

FastMCP's providers verify tokens, by the keys of the server (JWT) or by asking it (introspection), and publish the
protected-resource metadata (RFC 9728). This file decides whom a token is: its subject is a user, its scopes are a role,
and its audience has to be this gateway, or the one profile that it was made for.
"""

import asyncio
import base64
import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import httpx2
from pydantic import AnyHttpUrl, Field, SecretStr, TypeAdapter, UrlConstraints
from starlette.routing import BaseRoute

from toolcrib.credentials import CredentialStore
from toolcrib.errors import CredentialError, GatewayError
from toolcrib.gateway.clients import Caller
from toolcrib.policy.reading import Part
from toolcrib.sources.web import keep_keys_out_of_logs
from toolcrib.tools.schema import items, mapping

if TYPE_CHECKING:
    from fastmcp.server.auth import RemoteAuthProvider, TokenVerifier

METADATA = "/.well-known/oauth-protected-resource"
SUBJECT = "oauth:"  # what the names of these callers begin with, so that none has the name of a static token
_MOST_TOKEN_CHARACTERS = 16_000
RETRY_SECONDS = 5.0  # after the authorization server could not be reached
_TIMEOUT_SECONDS = 10.0
_PLACES = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
# Clients compare the issuer letter by letter: no `/` may be added.
_AS_WRITTEN = TypeAdapter[AnyHttpUrl](Annotated[AnyHttpUrl, UrlConstraints(preserve_empty_path=True)])
logger = logging.getLogger(__name__)


class IntrospectionSpec(Part):
    """How the gateway asks whether a token counts: as which client, and which credential of the app is its secret."""

    client: str
    secret: str


class OAuthSpec(Part):
    """The key `oauth` of the file."""

    url: str = Field(pattern=r"^https?://[^/?#]+/?$")  # under which clients reach the gateway, without a path
    issuer: str = Field(pattern=r"^https?://")
    scopes: tuple[str, ...] = ()  # that every token needs
    roles: dict[str, str] = Field(default_factory=dict[str, str])  # by scope; the first that a token has decides
    algorithm: str = "RS256"  # of JWTs
    introspection: IntrospectionSpec | None = None  # without it, tokens are JWTs


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a token does not count."""

    status: int
    error: str  # by RFC 6750
    message: str
    scopes: Sequence[str] = ()  # that the client should ask for


NEEDED = Refusal(401, "", "A token is needed: `Authorization: Bearer ...`.")
UNREACHABLE = Refusal(503, "temporarily_unavailable", "The authorization server cannot be reached. Try again later.")
INVALID = "The token is not valid: it was not signed by the authorization server, or has expired."
INACTIVE = "The token is expired, revoked or unknown."


class ResourceServer:
    """Verifies tokens of one authorization server, whose endpoints it discovers when the first one comes."""

    def __init__(
        self, spec: OAuthSpec, *, path: str, profiles: Iterable[str] = (), credentials: CredentialStore | None = None
    ) -> None:
        self._spec = spec
        self._base = spec.url.rstrip("/")
        self._path = path
        self._resources: dict[str | None, str] = {None: self._base + path}
        self._resources |= {name: f"{self._base}{path}/{name}" for name in profiles}
        self._credentials = credentials or CredentialStore.open()
        self._verifier: TokenVerifier | None = None
        self._discovering = asyncio.Lock()
        self._failed_at = -RETRY_SECONDS

    @property
    def host(self) -> str:
        """The host of its public address."""
        return urlsplit(self._base).hostname or ""

    def routes(self) -> list[BaseRoute]:
        """The metadata of each resource: the gateway, and each profile."""
        return [route for path in self._paths() for route in self._provider().get_routes(path)]

    async def caller(self, token: str, profile: str | None) -> Caller | Refusal:
        """Whom a token is, at a profile; or why it does not count there."""
        verifier = await self._discovered()
        if verifier is None:
            return UNREACHABLE
        verified = await verifier.verify_token(token) if len(token) <= _MOST_TOKEN_CHARACTERS else None
        if verified is None:
            return Refusal(401, "invalid_token", self._reason(token, profile))
        if not self._is_for(verified.claims.get("aud"), profile):
            return Refusal(401, "invalid_token", self._wrong_audience(verified.claims.get("aud"), profile))
        if verified.expires_at is None and self._spec.introspection is None:
            return Refusal(401, "invalid_token", "The token never expires.")
        subject = str(verified.claims.get("sub") or "")
        if not subject:
            return Refusal(401, "invalid_token", "The token names no user (`sub`).")
        missing = [scope for scope in self._spec.scopes if scope not in verified.scopes]
        if missing:
            message = f"The token lacks the scope {missing[0]!r}."
            return Refusal(403, "insufficient_scope", message, self._spec.scopes)
        role = next((role for scope, role in self._spec.roles.items() if scope in verified.scopes), None)
        return Caller(name=SUBJECT + subject, role=role, user=subject, profile=profile, token=SecretStr(token))

    def challenge(self, refusal: Refusal, profile: str | None) -> str:
        """The header that tells a client where it gets a token, and for what."""
        scopes = " ".join(refusal.scopes or self._spec.scopes)
        place = urlsplit(self._resources[profile]).path
        parts = {"error": refusal.error, "scope": scopes, "resource_metadata": f"{self._base}{METADATA}{place}"}
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parts.items() if value)

    # Discovery

    async def _discovered(self) -> "TokenVerifier | None":
        """The verifier; None while the authorization server cannot be reached."""
        async with self._discovering:
            if self._verifier is None and time.monotonic() - self._failed_at >= RETRY_SECONDS:
                try:
                    self._verifier = self._made(await self._metadata())
                except GatewayError as error:
                    self._failed_at = time.monotonic()
                    logger.warning("%s", error)
            return self._verifier

    async def _metadata(self) -> Mapping[str, Any]:
        """What the authorization server says of itself (RFC 8414, or OpenID Connect)."""
        keep_keys_out_of_logs()
        parts = urlsplit(self._spec.issuer)
        path, origin = parts.path.rstrip("/"), f"{parts.scheme}://{parts.netloc}"
        addresses = (origin + _PLACES[0] + path, origin + _PLACES[1] + path, origin + path + _PLACES[1])
        async with httpx2.AsyncClient(timeout=_TIMEOUT_SECONDS) as web:
            for address in dict.fromkeys(addresses):
                try:
                    answer = await web.get(address)
                    found = mapping(answer.json() if answer.status_code == 200 else None)
                except (httpx2.HTTPError, ValueError):
                    continue
                if found.get("issuer") == self._spec.issuer:
                    return found
        raise GatewayError(f"The authorization server {self._spec.issuer} does not say what it is.")

    def _made(self, metadata: Mapping[str, Any]) -> "TokenVerifier":
        # Late: gateways without an authorization server start without it.
        from fastmcp.server.auth.providers.introspection import IntrospectionTokenVerifier
        from fastmcp.server.auth.providers.jwt import JWTVerifier

        asked = self._spec.introspection
        key = "jwks_uri" if asked is None else "introspection_endpoint"
        endpoint = metadata.get(key)
        if not isinstance(endpoint, str):
            raise GatewayError(f"The authorization server {self._spec.issuer} has no `{key}`.")
        if asked is None:
            return JWTVerifier(
                jwks_uri=endpoint,
                issuer=self._spec.issuer,
                audience=list(self._resources.values()),
                algorithm=self._spec.algorithm,
            )
        try:
            secret = self._credentials.require(asked.secret)
        except CredentialError as error:
            raise GatewayError(f"{error} {error.hint}") from error
        # Nothing is cached: a token that is revoked ends at once.
        return IntrospectionTokenVerifier(introspection_url=endpoint, client_id=asked.client, client_secret=secret)

    # Audiences

    def _is_for(self, audience: object, profile: str | None) -> bool:
        """Whether a token is for this profile. One for the whole gateway is for each profile, too."""
        return bool({self._resources[None], self._resources[profile]}.intersection(_audiences(audience)))

    def _wrong_audience(self, audience: object, profile: str | None) -> str:
        stated = ", ".join(map(repr, _audiences(audience))) or "nothing"
        return f"The token is for {stated[:300]}, not for {self._resources[profile]!r}."

    def _reason(self, token: str, profile: str | None) -> str:
        """Why a token was refused, as far as it says that itself: nothing of it was believed."""
        if self._spec.introspection is not None:
            return INACTIVE
        claims = _unverified(token)
        expires = claims.get("exp")
        if isinstance(expires, int | float) and expires < time.time():
            return "The token has expired."
        if claims.get("iss") not in (None, self._spec.issuer):
            return f"The token is not of {self._spec.issuer!r}."
        if claims and not self._is_for(claims.get("aud"), profile):
            return self._wrong_audience(claims.get("aud"), profile)
        return INVALID

    # Metadata

    def _paths(self) -> list[str]:
        return [address.removeprefix(self._base) for address in self._resources.values()]

    def _provider(self) -> "RemoteAuthProvider":
        from fastmcp.server.auth import RemoteAuthProvider, TokenVerifier  # late, as above

        return RemoteAuthProvider(
            token_verifier=TokenVerifier(),  # never asked: only the metadata is taken
            authorization_servers=[_AS_WRITTEN.validate_python(self._spec.issuer)],
            base_url=self._base,
            scopes_supported=list(dict.fromkeys([*self._spec.scopes, *self._spec.roles])),
            resource_name="Toolcrib gateway",
        )


def _audiences(stated: object) -> list[str]:
    """The audiences of a token: one, or several."""
    return [stated] if isinstance(stated, str) else [one for one in items(stated) if isinstance(one, str)]


def _unverified(token: str) -> Mapping[str, Any]:
    """What a JWT says of itself; empty if it is none."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > _MOST_TOKEN_CHARACTERS:
        return {}
    try:
        return mapping(json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))))
    except (ValueError, RecursionError):
        return {}
