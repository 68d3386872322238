"""Where the browser comes back to after a login: an address on this machine, for one answer."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult

from toolcrib.errors import SourceError

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
