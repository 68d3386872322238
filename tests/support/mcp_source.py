"""An MCP server as a source in a test: started, listed and called."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.support import PATIENCE
from tests.support.mcp_servers import SCRIPTED
from toolcrib.catalog.catalog import Catalog
from toolcrib.sources.mcp.config import McpLimits, McpServer
from toolcrib.sources.mcp.source import McpSource

# What should work has all the time that a busy machine may need; little has only what should hang.
PATIENT = McpLimits(connect_seconds=PATIENCE, list_seconds=PATIENCE, first_retry_seconds=0.01)


def scripted(name: str = "shop", **told: Any) -> McpServer:
    return McpServer(name=name, transport="stdio", command=sys.executable, arguments=("-S", SCRIPTED, json.dumps(told)))


def offering(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, "inputSchema": {"type": "object"}, **more} for name in names]


@asynccontextmanager
async def running(server: McpServer, catalog: Catalog, **options: Any) -> AsyncGenerator[McpSource]:
    source = McpSource(server, catalog, **options)
    async with asyncio.timeout(2 * PATIENCE):
        await source.start()
        await source.wait_until_settled()
        try:
            yield source
        finally:
            await source.stop()


async def until(holds: Callable[[], bool]) -> None:
    """Let others work until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110  # what holds may be anything; nothing tells of all of it
            await asyncio.sleep(0.01)  # not 0: those who are waited for need the processor


def called(catalog: Catalog, name: str, **arguments: Any) -> Any:
    return catalog.get(name).call(arguments)
