"""A real MCP server of FastMCP's that knows its users by OAuth, and a browser whose user agrees."""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl

from tests.support import PATIENCE
from toolcrib.sources.mcp_server import McpServer, read_mcp_server

SOON = PATIENCE


class AnyPort(OAuthClientInformationFull):
    """A program on somebody's machine, which may come back to any port there (RFC 8252)."""

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        assert redirect_uri is not None
        assert (redirect_uri.host, redirect_uri.path) == ("127.0.0.1", "/callback")
        return redirect_uri


class Desk:
    """A server with users, and what it knows of them."""

    def __init__(self, port: int, *, registers: bool) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"
        options = ClientRegistrationOptions(enabled=registers)
        self.users = InMemoryOAuthProvider(base_url=f"http://127.0.0.1:{port}", client_registration_options=options)
        self.mcp: FastMCP[Any] = FastMCP("desk", auth=self.users)
        self.mcp.tool(lambda: "open", name="opening_hours", description="When the desk is open.")

    @property
    def server(self) -> McpServer:
        return read_mcp_server("desk", {"url": self.url})

    def know(self, id: str, secret: str | None, way: str, *, port: int | None = None) -> None:
        """Somebody registered a program by hand, on a page for developers; with a port, its address is compared."""
        kind = OAuthClientInformationFull if port else AnyPort
        address = AnyUrl(f"http://127.0.0.1{f':{port}' if port else ''}/callback")
        self.users.clients[id] = kind(
            client_id=id, client_secret=secret, token_endpoint_auth_method=way, redirect_uris=[address]
        )

    def end_tokens(self) -> None:
        """Nobody's token counts any more; they may be renewed."""
        self.users.access_tokens.clear()


@contextmanager
def open_desk(*, registers: bool = True) -> Generator[Desk]:
    """The desk, listening; it closes with the block."""
    listening = socket.create_server(("127.0.0.1", 0))
    desk = Desk(listening.getsockname()[1], registers=registers)
    config = uvicorn.Config(desk.mcp.http_app(), log_config=None, timeout_graceful_shutdown=1, lifespan="on", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    try:
        yield desk
    finally:
        server.should_exit = True
        thread.join(timeout=SOON)
        listening.close()


async def agree(address: str) -> None:
    """What a browser does whose user agrees at once."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        page = await browser.get(address)
    assert "You can close this page" in page.text
