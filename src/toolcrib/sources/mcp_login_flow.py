"""Log in to an MCP server elsewhere: a page opens in the browser, and its answer comes to this machine."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken

from toolcrib.errors import SourceError, SourceLoginError
from toolcrib.sources.mcp_connection import McpConnection
from toolcrib.sources.mcp_limits import McpLimits
from toolcrib.sources.mcp_login import LoginFile, client_metadata
from toolcrib.sources.mcp_server import McpServer

OpenPage: TypeAlias = Callable[[str], Awaitable[None]]

SECONDS = 300.0  # for somebody to log in
_PATH = "/callback"
_PAGE = b"<!doctype html><title>Toolcrib</title><p>You can close this page, and go back to the terminal."
_MOST_REQUEST_BYTES = 16_384


async def log_in(server: McpServer, folder: Path, open_page: OpenPage, seconds: float = SECONDS) -> int:
    """Log in and keep the login; gives how many tools the server has for us then."""
    if server.transport == "stdio":
        raise SourceError(f"{server.name} is a program on this machine.", hint="It has no login of ours.")
    storage = _NewLogin(server, folder)
    async with _callback() as (address, answer):

        async def told() -> AuthorizationCodeResult:
            return await answer

        provider = OAuthClientProvider(server.url, client_metadata(address), storage, open_page, told)
        limits = McpLimits(connect_seconds=seconds, list_seconds=seconds)
        connection = McpConnection(server, limits=limits, auth=provider)
        try:
            tools = await connection.tools()
        except SourceError as error:
            reason = f"{server.name}: there was no login: {_reason(error)}."
            raise SourceLoginError(reason, hint="Look at what its page said, and try again.") from error
        finally:
            await connection.close()
        if not storage.logged_in:
            raise SourceError(f"{server.name} asks for no login.", hint="It can be used as it is.")
        if provider.context.oauth_metadata is not None:
            storage.set_metadata(provider.context.oauth_metadata)
    return len(tools)


class _NewLogin(LoginFile):
    """A login from the beginning. The port of our address is a new one, so we have to be made known anew as well."""

    logged_in = False

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.logged_in = True
        await super().set_tokens(tokens)


@asynccontextmanager
async def _callback() -> "AsyncGenerator[tuple[str, asyncio.Future[AuthorizationCodeResult]]]":
    """An address on this machine, and what the browser brings there."""
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

    server = await asyncio.start_server(take, "127.0.0.1", 0, limit=_MOST_REQUEST_BYTES)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{_PATH}", answer
        answer.cancel()


def _reason(error: SourceError) -> str:
    """What went wrong, in the words of the login if it was one."""
    cause: BaseException | None = error.__cause__
    while cause is not None:
        if isinstance(cause, OAuthFlowError):
            return str(cause).rstrip(".")
        cause = cause.__cause__ or cause.__context__
    return str(error).rstrip(".")
