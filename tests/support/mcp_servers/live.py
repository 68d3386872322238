"""A real FastMCP server with a handful of tools: in a thread over HTTP or SSE, or as a program over stdio."""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal

import uvicorn
from fastmcp import Context, FastMCP
from mcp_types import ToolAnnotations, ToolListChangedNotification


def made_server() -> FastMCP[Any]:
    server: FastMCP[Any] = FastMCP("live")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool
    def big(size: int) -> str:
        """Say much."""
        return "x" * size

    @server.tool
    async def slow(ctx: Context) -> str:
        """Take two steps."""
        await ctx.report_progress(1, 2, "half")
        return "done"

    @server.tool
    async def hang() -> str:
        """Never come back."""
        await asyncio.Event().wait()
        return ""

    @server.tool
    async def grow(ctx: Context) -> str:
        """Have one more tool."""
        server.tool(lambda: "new", name="grown", description="A new tool.")
        await ctx.send_notification(ToolListChangedNotification())
        return "grown"

    return server


@contextmanager
def serving(transport: Literal["http", "sse"]) -> Generator[str]:
    """The address of a running server; it ends with the block."""
    listening = socket.create_server(("127.0.0.1", 0))
    app = made_server().http_app(transport=transport)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, lifespan="on", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/{'mcp' if transport == 'http' else 'sse'}"
    finally:
        server.should_exit = True
        thread.join(timeout=60)
        listening.close()


if __name__ == "__main__":
    made_server().run(show_banner=False)
