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
from fastmcp.server.auth.auth import ClientRegistrationOptions
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider

from toolcrib.sources.mcp_server import McpServer, read_mcp_server

SOON = 30


class Desk:
    """A server with users, and what it knows of them."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"
        options = ClientRegistrationOptions(enabled=True)
        self.users = InMemoryOAuthProvider(base_url=f"http://127.0.0.1:{port}", client_registration_options=options)
        self.mcp: FastMCP[Any] = FastMCP("desk", auth=self.users)
        self.mcp.tool(lambda: "open", name="opening_hours", description="When the desk is open.")

    @property
    def server(self) -> McpServer:
        return read_mcp_server("desk", {"url": self.url})

    def end_tokens(self) -> None:
        """Nobody's token counts any more; they may be renewed."""
        self.users.access_tokens.clear()


@contextmanager
def open_desk() -> Generator[Desk]:
    """The desk, listening; it closes with the block."""
    listening = socket.create_server(("127.0.0.1", 0))
    desk = Desk(listening.getsockname()[1])
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
