"""Log in to an MCP server elsewhere: a page opens in the browser, and its answer comes to this machine."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken

from toolcrib.errors import SourceError, SourceLoginError
from toolcrib.sources.mcp_connection import McpConnection
from toolcrib.sources.mcp_given_client import GivenClient
from toolcrib.sources.mcp_limits import McpLimits
from toolcrib.sources.mcp_login import LoginFile, client_metadata
from toolcrib.sources.mcp_login_callback import callback
from toolcrib.sources.mcp_server import McpServer
from toolcrib.tools.cleaning import clean

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
    client: GivenClient | None = None,
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

    def __init__(self, server: McpServer, folder: Path, client: GivenClient | None) -> None:
        super().__init__(server, folder)
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None if self._client is None else self._client.known_as(None)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.logged_in = True
        await super().set_tokens(tokens)


def _no_login(server: McpServer, client: GivenClient | None, error: SourceError) -> SourceLoginError:
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
