"""OAuth logins to remote MCP servers, stored in files that only their owner can read.

Only `toolcrib sources login` opens a browser. A running source sends the stored token, refreshes it when it has
expired, and picks up a login that was made in the meantime. Without a login, the state of the source is `needs login`.
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
from mcp.client.auth.utils import is_valid_client_metadata_url
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyHttpUrl, BaseModel, SecretStr, ValidationError

from toolcrib.credentials import LOCAL, CredentialStore
from toolcrib.errors import SourceError, SourceLoginError
from toolcrib.sources.mcp.config import McpLimits, McpServer
from toolcrib.sources.mcp.connection import McpConnection
from toolcrib.tools.schema import mapping
from toolcrib.tools.text import clean


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredClient:
    """An OAuth client that was registered by hand, for a server without dynamic client registration."""

    id: str
    secret: str | None = field(default=None, repr=False)
    port: int = 0  # of the redirect URI, for servers that compare it exactly; 0 picks a free one

    def to_client_information(self, metadata: OAuthMetadata | None) -> OAuthClientInformationFull:
        """The client in the form of the SDK, for a server with this metadata."""
        return OAuthClientInformationFull(
            client_id=self.id, client_secret=self.secret, token_endpoint_auth_method=self._auth_method(metadata)
        )

    def _auth_method(self, metadata: OAuthMetadata | None) -> str:
        """How the client authenticates at the token endpoint."""
        if self.secret is None:
            return "none"
        methods = (metadata.token_endpoint_auth_methods_supported if metadata else None) or ()
        # `client_secret_basic` is the default of RFC 8414.
        return "client_secret_post" if "client_secret_post" in methods else "client_secret_basic"


CLIENT_NAME = "Toolcrib"
Model = TypeVar("Model", bound=BaseModel)
_ONLY_OWNER = 0o600
_EARLY_SECONDS = 30.0  # before its end a token is renewed: it has to last for the request, too


class StoredLogin(TokenStorage):
    """The stored login of one user of one server: tokens, client registration and server metadata."""

    @property
    def expires_at(self) -> float | None:
        """When the access token is to be renewed, in seconds since the epoch."""
        value = self._load().get("expires_at")
        return value if isinstance(value, float) else None

    def is_changed(self) -> bool:
        """Whether it was changed since it was loaded, for example by another process."""
        raise NotImplementedError

    def forget(self) -> bool:
        """Remove the login. Returns whether there was one."""
        raise NotImplementedError

    def _load(self) -> Mapping[str, Any]:
        """The document as it is stored now."""
        raise NotImplementedError

    def _store(self, document: Mapping[str, Any]) -> None:
        raise NotImplementedError

    async def get_tokens(self) -> OAuthToken | None:
        return _parse(OAuthToken, self._load().get("tokens"))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return _parse(OAuthClientInformationFull, self._load().get("client"))

    async def registered_client(self) -> RegisteredClient | None:
        """The client of the last login, if it was registered by hand."""
        client, port = await self.get_client_info(), self._load().get("given_port")
        if client is None or not isinstance(port, int):
            return None
        return RegisteredClient(id=client.client_id, secret=client.client_secret, port=port)

    def metadata(self) -> OAuthMetadata | None:
        """The metadata of the authorization server, which has the token endpoint."""
        return _parse(OAuthMetadata, self._load().get("metadata"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        lasts = tokens.expires_in
        expires_at = None if lasts is None else time.time() + lasts - min(_EARLY_SECONDS, lasts / 5)
        self._write(tokens=tokens.model_dump(mode="json", exclude_none=True), expires_at=expires_at)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._write(client=client_info.model_dump(mode="json", exclude_none=True), given_port=None)

    def set_registered_client(self, client: RegisteredClient, metadata: OAuthMetadata | None) -> None:
        """Store the client, to refresh the tokens and for the next login."""
        self._write(
            client=client.to_client_information(metadata).model_dump(mode="json", exclude_none=True),
            given_port=client.port,
        )

    def set_metadata(self, metadata: OAuthMetadata) -> None:
        self._write(metadata=metadata.model_dump(mode="json", exclude_none=True))

    def _write(self, **changed: object) -> None:
        self._store({**self._load(), **changed})


class LoginFile(StoredLogin):
    """The login of whoever runs Toolcrib here: a file that only its owner can read."""

    def __init__(self, server: McpServer, folder: Path) -> None:
        # Named by a hash, because a URL may contain a key.
        self.path = folder / f"{_hash_of(server)}.json"
        self._loaded_version: tuple[int, int] | None = None
        self._document: Mapping[str, Any] = {}

    def is_changed(self) -> bool:
        return self._version() != self._loaded_version

    def forget(self) -> bool:
        existed = self.path.exists()
        self.path.unlink(missing_ok=True)
        return existed

    def _load(self) -> Mapping[str, Any]:
        if self.is_changed():
            self._loaded_version = self._version()
            try:
                self._document = mapping(json.loads(self.path.read_text("utf-8")))
            except (OSError, ValueError):
                self._document = {}
        return self._document

    def _store(self, document: Mapping[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with NamedTemporaryFile("w", encoding="utf-8", dir=self.path.parent, prefix=".", delete=False) as new:
            os.chmod(new.name, _ONLY_OWNER)
            json.dump(document, new)
        os.replace(new.name, self.path)
        self._document, self._loaded_version = document, self._version()

    def _version(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino


class UserLogin(StoredLogin):
    """The login of one user, in the credential store."""

    def __init__(self, server: McpServer, credentials: CredentialStore, user: str) -> None:
        self._name = f"login {_hash_of(server)}"
        self._credentials = credentials
        self._user = user
        self._loaded: str | None = None

    def is_changed(self) -> bool:
        return self._text() != self._loaded

    def forget(self) -> bool:
        return self._credentials.remove(self._name, user=self._user)

    def _load(self) -> Mapping[str, Any]:
        self._loaded = self._text()
        try:
            return mapping(json.loads(self._loaded or "{}"))
        except ValueError:
            return {}

    def _store(self, document: Mapping[str, Any]) -> None:
        self._loaded = json.dumps(document)
        self._credentials.set(self._name, SecretStr(self._loaded), user=self._user)

    def _text(self) -> str | None:
        found = self._credentials.get(self._name, user=self._user)
        return None if found is None else found.get_secret_value()


def _hash_of(server: McpServer) -> str:
    return sha256(server.url.encode()).hexdigest()[:32]


def stored_login(server: McpServer, folder: Path, credentials: CredentialStore, user: str) -> StoredLogin:
    """The place of a user's login."""
    return LoginFile(server, folder) if user == LOCAL else UserLogin(server, credentials, user)


class SavedLogin(OAuthClientProvider):
    """Sends the token of a stored login, and refreshes it. It never starts a login."""

    def __init__(self, server: McpServer, file: StoredLogin) -> None:
        self._file = file
        super().__init__(server.url, client_metadata("http://127.0.0.1/callback"), file)

    async def _initialize(self) -> None:
        await super()._initialize()
        # The SDK does not load the expiry time, and discovers the token endpoint only after a 401 response.
        self.context.token_expiry_time = self._file.expires_at
        self.context.oauth_metadata = self._file.metadata()

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        async with self.context.lock:
            if self._file.is_changed() or not self._initialized:
                await self._initialize()
            if not self.context.is_token_valid() and self.context.can_refresh_token():
                await self._renewed((yield await self._refresh_token()))
            sent = self._add_token(request)
        answer = yield request
        if answer.status_code != 401 or sent is None:
            return
        async with self.context.lock:  # it ended before its time, or while it was under way
            if self._file.is_changed():
                await self._initialize()
            if (self._token == sent or not self.context.is_token_valid()) and self.context.can_refresh_token():
                await self._renewed((yield await self._refresh_token()))
            again = self._add_token(request)
        if again not in (None, sent):
            yield request

    @property
    def _token(self) -> str | None:
        return self.context.current_tokens.access_token if self.context.current_tokens else None

    async def _renewed(self, answer: httpx2.Response) -> None:
        await self._handle_refresh_response(answer)
        self.context.token_expiry_time = self._file.expires_at

    def _add_token(self, request: httpx2.Request) -> str | None:
        """Send the token, if it counts; gives it."""
        if not self.context.is_token_valid():
            return None
        self._add_auth_header(request)
        return self._token


def saved_login(
    server: McpServer, folder: Path, credentials: CredentialStore | None = None, user: str = LOCAL
) -> SavedLogin | None:
    """The stored login of a server; None for a local server, or one with a key in its configuration."""
    has_key = any(name.casefold() == "authorization" for name in server.headers)
    if server.transport == "stdio" or has_key:
        return None
    login = LoginFile(server, folder) if credentials is None else stored_login(server, folder, credentials, user)
    return SavedLogin(server, login)


def client_metadata(callback: str) -> OAuthClientMetadata:
    """The metadata of Toolcrib as an OAuth client."""
    return OAuthClientMetadata(
        client_name=CLIENT_NAME,
        redirect_uris=[AnyHttpUrl(callback)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )


def _parse(model: type[Model], value: object) -> Model | None:
    try:
        return None if value is None else model.model_validate(value)
    except ValidationError:  # a damaged file counts as no login
        return None


# The redirect URI of a login: an HTTP server on this machine that takes one request.

_PATH = "/callback"
_PAGE = b"<!doctype html><title>Toolcrib</title><p>You can close this page, and go back to the terminal."
_MOST_REQUEST_BYTES = 16_384


@asynccontextmanager
async def callback(port: int = 0) -> "AsyncGenerator[tuple[str, asyncio.Future[AuthorizationCodeResult]]]":
    """Serve the redirect URI. Yields the URI and the future authorization code. Port 0 picks a free port."""
    answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError):  # connections that are not from the browser
            await handle_request(reader, writer)

    async def handle_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode("latin-1").split(" ")
        while (await reader.readline()).strip():
            pass
        url = urlsplit(line[1] if len(line) > 1 else "")
        is_callback = url.path == _PATH
        page = _PAGE if is_callback else b""
        head = f"HTTP/1.1 {'200 OK' if is_callback else '404 Not Found'}\r\nContent-Type: text/html\r\n"
        writer.write(f"{head}Content-Length: {len(page)}\r\nConnection: close\r\n\r\n".encode() + page)
        await writer.drain()
        writer.close()
        if is_callback and not answer.done():
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            if "code" in query:
                answer.set_result(
                    AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))
                )
            else:
                answer.set_exception(OAuthFlowError(query.get("error", "no code came")))

    try:
        server = await asyncio.start_server(handle, "127.0.0.1", port, limit=_MOST_REQUEST_BYTES)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        hint = "Free the port, or register another redirect URI and pass its port as --callback-port."
        raise SourceError(f"The port {port} cannot receive the login: {reason}.", hint=hint) from error
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{_PATH}", answer
        answer.cancel()


OpenPage: TypeAlias = Callable[[str], Awaitable[None]]

_MOST_REASON_CHARACTERS = 300
SECONDS = 300.0  # for the user to log in
_TRY_AGAIN = "Look at what its page said, and try again."
_REGISTER = (
    "The server has no dynamic client registration. Register a client on its developer page, and pass --client-id (and,"
    " if it has a secret, --client-secret-env)."
)


async def log_in(
    server: McpServer,
    folder: Path,
    open_page: OpenPage,
    seconds: float = SECONDS,
    *,
    client: RegisteredClient | None = None,
    client_metadata_url: str | None = None,
    login: StoredLogin | None = None,
) -> int:
    """Log in and store the login. Returns how many tools the server then offers.

    `client` is registered with the server already; by default the client of the last login. If there is none, the
    client is the one that the document at `client_metadata_url` describes, where the server takes such documents;
    otherwise dynamic client registration is used. `login` is where the login is kept, by default that of this machine.
    """
    if client_metadata_url is not None and not is_valid_client_metadata_url(client_metadata_url):
        hint = "It starts with https:// and has a path, such as https://example.com/toolcrib.json."
        raise SourceError(f"{client_metadata_url!r} is no address of a client's metadata.", hint=hint)
    login = login or LoginFile(server, folder)
    if server.transport == "stdio":
        raise SourceError(
            f"{server.name} is a program on this machine.",
            hint="Local servers need no login. Put its key into `env` of its entry.",
        )
    client = client or await login.registered_client()
    storage = _NewLogin(login, client)
    async with callback(client.port if client else 0) as (address, answer):

        async def wait_for_callback() -> AuthorizationCodeResult:
            return await answer

        async def open_login_page(page: str) -> None:
            if client is not None:  # the metadata of the server is known only now
                provider.context.client_info = client.to_client_information(provider.context.oauth_metadata)
            await open_page(page)

        provider = OAuthClientProvider(
            server.url,
            client_metadata(address),
            storage,
            open_login_page,
            wait_for_callback,
            client_metadata_url=client_metadata_url,
        )
        limits = McpLimits(connect_seconds=seconds, list_seconds=seconds)
        connection = McpConnection(server, limits=limits, auth=provider)
        try:
            tools = await connection.tools()
        except SourceError as error:
            raise _login_failure(server, client, error) from error
        finally:
            await connection.close()
        if not storage.logged_in:
            raise SourceError(f"{server.name} requires no login.", hint="It can be used without one.")
        if provider.context.oauth_metadata is not None:
            login.set_metadata(provider.context.oauth_metadata)
        if client is not None:
            login.set_registered_client(client, provider.context.oauth_metadata)
    return len(tools)


class _NewLogin(TokenStorage):
    """Storage for a new login. It ignores the stored client, because the port of the redirect URI changes."""

    def __init__(self, login: StoredLogin, client: RegisteredClient | None) -> None:
        self._login = login
        self._client = client
        self.logged_in = False

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None if self._client is None else self._client.to_client_information(None)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.logged_in = True
        await self._login.set_tokens(tokens)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._login.set_client_info(client_info)


def _login_failure(server: McpServer, client: RegisteredClient | None, error: SourceError) -> SourceLoginError:
    """The error for a failed login, with the reason of the OAuth flow if there is one."""
    reason, hint = str(error), _TRY_AGAIN
    cause: BaseException | None = error.__cause__
    while cause is not None:
        if isinstance(cause, OAuthFlowError):
            reason = str(cause)
            hint = _REGISTER if isinstance(cause, OAuthRegistrationError) else _TRY_AGAIN
            break
        cause = cause.__cause__ or cause.__context__
    if client is not None and client.secret:
        reason = reason.replace(client.secret, "[secret]")  # a server may echo what it received
    reason = clean(reason, _MOST_REASON_CHARACTERS).rstrip(".")
    return SourceLoginError(f"{server.name}: the login failed: {reason}.", hint=hint)
