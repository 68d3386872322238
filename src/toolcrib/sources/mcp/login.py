"""A login to an MCP server elsewhere, by OAuth: kept in a file of its owner's, used and renewed without asking anybody.

Only `toolcrib sources login` opens a page (`mcp_login_flow.py`). What runs in the background shows the token it finds,
renews it when it is over, and takes a login that somebody made meanwhile. Without one, the server answers that it wants
a login, and that is what the source says.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, TokenStorage
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyHttpUrl, BaseModel, ValidationError

from toolcrib.errors import SourceError, SourceLoginError
from toolcrib.sources.mcp.config import McpLimits, McpServer
from toolcrib.sources.mcp.connection import McpConnection
from toolcrib.tools.schema import mapping
from toolcrib.tools.text import clean

# A client that somebody registered by hand with a server, because the server registers none by itself.


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredClient:
    """Its id and its secret, as the server's page for developers shows them."""

    id: str
    secret: str | None = field(default=None, repr=False)
    port: int = 0  # of our address, where the server compares the whole of it; 0 is any that is free

    def known_as(self, metadata: OAuthMetadata | None) -> OAuthClientInformationFull:
        """How we say who we are to a server that describes itself so."""
        return OAuthClientInformationFull(
            client_id=self.id, client_secret=self.secret, token_endpoint_auth_method=self._shown(metadata)
        )

    def _shown(self, metadata: OAuthMetadata | None) -> str:
        """How the secret is shown when a token is asked for."""
        if self.secret is None:
            return "none"
        ways = (metadata.token_endpoint_auth_methods_supported if metadata else None) or ()
        # A server that names no way takes the first one (RFC 8414).
        return "client_secret_post" if "client_secret_post" in ways else "client_secret_basic"


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

    async def given(self) -> RegisteredClient | None:
        """The client that somebody registered by hand, with which the last login was made."""
        client, port = await self.get_client_info(), self._said().get("given_port")
        if client is None or not isinstance(port, int):
            return None
        return RegisteredClient(id=client.client_id, secret=client.client_secret, port=port)

    def metadata(self) -> OAuthMetadata | None:
        """Where the server that gave the tokens renews them."""
        return _as(OAuthMetadata, self._said().get("metadata"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        over = None if tokens.expires_in is None else time.time() + tokens.expires_in
        self._write(tokens=tokens.model_dump(mode="json", exclude_none=True), expires_at=over)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._write(client=client_info.model_dump(mode="json", exclude_none=True), given_port=None)

    def set_given(self, client: RegisteredClient, metadata: OAuthMetadata | None) -> None:
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


# Where the browser comes back to after a login: an address on this machine, for one answer.

_PATH = "/callback"
_PAGE = b"<!doctype html><title>Toolcrib</title><p>You can close this page, and go back to the terminal."
_MOST_REQUEST_BYTES = 16_384


@asynccontextmanager
async def callback(port: int = 0) -> "AsyncGenerator[tuple[str, asyncio.Future[AuthorizationCodeResult]]]":
    """The address, and what the browser brings there. Port 0 picks a free one."""
    answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError):  # whoever else calls here
            await read(reader, writer)

    async def read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode("latin-1").split(" ")
        while (await reader.readline()).strip():
            pass
        url = urlsplit(line[1] if len(line) > 1 else "")
        ours = url.path == _PATH
        page = _PAGE if ours else b""
        head = f"HTTP/1.1 {'200 OK' if ours else '404 Not Found'}\r\nContent-Type: text/html\r\n"
        writer.write(f"{head}Content-Length: {len(page)}\r\nConnection: close\r\n\r\n".encode() + page)
        await writer.drain()
        writer.close()
        if ours and not answer.done():
            said = {key: values[0] for key, values in parse_qs(url.query).items()}
            if "code" in said:
                answer.set_result(
                    AuthorizationCodeResult(code=said["code"], state=said.get("state"), iss=said.get("iss"))
                )
            else:
                answer.set_exception(OAuthFlowError(said.get("error", "no code came")))

    try:
        server = await asyncio.start_server(take, "127.0.0.1", port, limit=_MOST_REQUEST_BYTES)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        hint = "Free it, or register another address with the server and give its --callback-port."
        raise SourceError(f"Nobody can come back to port {port} after a login: {reason}.", hint=hint) from error
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{_PATH}", answer
        answer.cancel()


# Log in to an MCP server elsewhere: a page opens in the browser, and its answer comes to this machine.

OpenPage: TypeAlias = Callable[[str], Awaitable[None]]

_MOST_REASON_CHARACTERS = 300
SECONDS = 300.0  # for somebody to log in
_TRY_AGAIN = "Look at what its page said, and try again."
_REGISTER = (
    "It does not register programs by itself. Register one on its page for developers, and give --client-id (and, if it"
    " has a secret, --client-secret-env)."
)


async def log_in(
    server: McpServer,
    folder: Path,
    open_page: OpenPage,
    seconds: float = SECONDS,
    *,
    client: RegisteredClient | None = None,
) -> int:
    """Log in and keep the login; gives how many tools the server has for us then.

    `client` is one that the server knows already; the one of the last login if it is not given. Without any, we make
    ourselves known to the server.
    """
    if server.transport == "stdio":
        raise SourceError(f"{server.name} is a program on this machine.", hint="It has no login of ours.")
    client = client or await LoginFile(server, folder).given()
    storage = _NewLogin(server, folder, client)
    async with callback(client.port if client else 0) as (address, answer):

        async def told() -> AuthorizationCodeResult:
            return await answer

        async def show(page: str) -> None:
            if client is not None:  # now it is known what the server understands
                provider.context.client_info = client.known_as(provider.context.oauth_metadata)
            await open_page(page)

        provider = OAuthClientProvider(server.url, client_metadata(address), storage, show, told)
        limits = McpLimits(connect_seconds=seconds, list_seconds=seconds)
        connection = McpConnection(server, limits=limits, auth=provider)
        try:
            tools = await connection.tools()
        except SourceError as error:
            raise _no_login(server, client, error) from error
        finally:
            await connection.close()
        if not storage.logged_in:
            raise SourceError(f"{server.name} asks for no login.", hint="It can be used as it is.")
        if provider.context.oauth_metadata is not None:
            storage.set_metadata(provider.context.oauth_metadata)
        if client is not None:
            storage.set_given(client, provider.context.oauth_metadata)
    return len(tools)


class _NewLogin(LoginFile):
    """A login from the beginning. The port of our address is a new one, so we have to be made known anew as well."""

    logged_in = False

    def __init__(self, server: McpServer, folder: Path, client: RegisteredClient | None) -> None:
        super().__init__(server, folder)
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None if self._client is None else self._client.known_as(None)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.logged_in = True
        await super().set_tokens(tokens)


def _no_login(server: McpServer, client: RegisteredClient | None, error: SourceError) -> SourceLoginError:
    """What went wrong, in the words of the login if it was one."""
    said, hint = str(error), _TRY_AGAIN
    cause: BaseException | None = error.__cause__
    while cause is not None:
        if isinstance(cause, OAuthFlowError):
            said = str(cause)
            hint = _REGISTER if isinstance(cause, OAuthRegistrationError) else _TRY_AGAIN
            break
        cause = cause.__cause__ or cause.__context__
    if client is not None and client.secret:
        said = said.replace(client.secret, "[secret]")  # a server may repeat what it was told
    reason = clean(said, _MOST_REASON_CHARACTERS).rstrip(".")
    return SourceLoginError(f"{server.name}: there was no login: {reason}.", hint=hint)
