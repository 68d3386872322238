"""A login to an MCP server elsewhere, by OAuth: kept in a file of its owner's, used and renewed without asking anybody.

Only `toolcrib sources login` opens a page (`mcp_login_flow.py`). What runs in the background shows the token it finds,
renews it when it is over, and takes a login that somebody made meanwhile. Without one, the server answers that it wants
a login, and that is what the source says.
"""

import json
import os
import time
from collections.abc import AsyncGenerator, Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeVar

import httpx2
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken
from pydantic import AnyHttpUrl, BaseModel, ValidationError

from toolcrib.sources.json_parts import mapping
from toolcrib.sources.mcp_given_client import GivenClient
from toolcrib.sources.mcp_server import McpServer

CLIENT_NAME = "Toolcrib"
Kind = TypeVar("Kind", bound=BaseModel)
_ONLY_OWNER = 0o600


class LoginFile(TokenStorage):
    """What a server gave us at a login: tokens, our name there, and where to renew. Nobody else may read it."""

    def __init__(self, server: McpServer, folder: Path) -> None:
        # By a hash: an address may hold a key.
        self.path = folder / f"{sha256(server.url.encode()).hexdigest()[:32]}.json"
        self._read_at: tuple[int, int] | None = None
        self._held: Mapping[str, Any] = {}

    @property
    def expires_at(self) -> float | None:
        """When the token is over, by the clock on the wall."""
        said = self._said().get("expires_at")
        return said if isinstance(said, float) else None

    def news(self) -> bool:
        """Whether somebody else changed the file since we read it."""
        return self._state() != self._read_at

    def forget(self) -> bool:
        """Remove the login; gives whether there was one."""
        there = self.path.exists()
        self.path.unlink(missing_ok=True)
        return there

    async def get_tokens(self) -> OAuthToken | None:
        return _as(OAuthToken, self._said().get("tokens"))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return _as(OAuthClientInformationFull, self._said().get("client"))

    async def given(self) -> GivenClient | None:
        """The client that somebody registered by hand, with which the last login was made."""
        client, port = await self.get_client_info(), self._said().get("given_port")
        if client is None or not isinstance(port, int):
            return None
        return GivenClient(id=client.client_id, secret=client.client_secret, port=port)

    def metadata(self) -> OAuthMetadata | None:
        """Where the server that gave the tokens renews them."""
        return _as(OAuthMetadata, self._said().get("metadata"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        over = None if tokens.expires_in is None else time.time() + tokens.expires_in
        self._write(tokens=tokens.model_dump(mode="json", exclude_none=True), expires_at=over)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._write(client=client_info.model_dump(mode="json", exclude_none=True), given_port=None)

    def set_given(self, client: GivenClient, metadata: OAuthMetadata | None) -> None:
        """Keep who we are there, to renew the login and to make the next one."""
        self._write(client=client.known_as(metadata).model_dump(mode="json", exclude_none=True), given_port=client.port)

    def set_metadata(self, metadata: OAuthMetadata) -> None:
        self._write(metadata=metadata.model_dump(mode="json", exclude_none=True))

    def _said(self) -> Mapping[str, Any]:
        if self.news():
            self._read_at = self._state()
            try:
                self._held = mapping(json.loads(self.path.read_text("utf-8")))
            except (OSError, ValueError):
                self._held = {}
        return self._held

    def _write(self, **changed: object) -> None:
        document = {**self._said(), **changed}
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with NamedTemporaryFile("w", encoding="utf-8", dir=self.path.parent, prefix=".", delete=False) as new:
            os.chmod(new.name, _ONLY_OWNER)
            json.dump(document, new)
        os.replace(new.name, self.path)
        self._held, self._read_at = document, self._state()

    def _state(self) -> tuple[int, int] | None:
        try:
            held = self.path.stat()
        except OSError:
            return None
        return held.st_mtime_ns, held.st_ino


class SavedLogin(OAuthClientProvider):
    """Shows the token of a login that was made before, and renews it. It never begins a login."""

    def __init__(self, server: McpServer, file: LoginFile) -> None:
        self._file = file
        super().__init__(server.url, client_metadata("http://127.0.0.1/callback"), file)

    async def _initialize(self) -> None:
        await super()._initialize()
        # The SDK loads a token without its end, and looks for the place to renew it only after a refusal.
        self.context.token_expiry_time = self._file.expires_at
        self.context.oauth_metadata = self._file.metadata()

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        async with self.context.lock:
            if self._file.news() or not self._initialized:
                await self._initialize()
            if not self.context.is_token_valid() and self.context.can_refresh_token():
                renewed = yield await self._refresh_token()
                await self._handle_refresh_response(renewed)
            if self.context.is_token_valid():
                self._add_auth_header(request)
        yield request


def saved_login(server: McpServer, folder: Path) -> SavedLogin | None:
    """The login of a server; None for one that needs none of ours: a program, or one with a key in its entry."""
    has_key = any(name.casefold() == "authorization" for name in server.headers)
    return None if server.transport == "stdio" or has_key else SavedLogin(server, LoginFile(server, folder))


def client_metadata(callback: str) -> OAuthClientMetadata:
    """What we say of ourselves."""
    return OAuthClientMetadata(
        client_name=CLIENT_NAME,
        redirect_uris=[AnyHttpUrl(callback)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )


def _as(kind: type[Kind], said: object) -> Kind | None:
    try:
        return None if said is None else kind.model_validate(said)
    except ValidationError:  # a damaged file is no login
        return None
