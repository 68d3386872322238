"""How long a request waits for servers that were just started."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from toolcrib.catalog import Catalog
from toolcrib.gateway.surface import CALLERS
from toolcrib.sources.mcp import McpSource
from toolcrib.sources.names import SEPARATOR
from toolcrib.sources.source import Source

PATIENCE_SECONDS = 5.0  # that the first searches wait for servers of which nothing is remembered


class Patience:
    """Waits where without a server nothing would be found, and never for a server that nobody asked for."""

    def __init__(self, catalog: Catalog, seconds: float = PATIENCE_SECONDS) -> None:
        self._catalog = catalog
        self._seconds = seconds
        self._until = 0.0
        self._settling: dict[asyncio.Task[None], Source] = {}  # tasks that end when it is known how a source is

    def begin(self, sources: Iterable[Source]) -> None:
        """These were started just now."""
        self._until = asyncio.get_running_loop().time() + self._seconds
        self._settling = {asyncio.create_task(one.settled()): one for one in sources}

    async def end(self) -> None:
        """Nobody waits any more."""
        for task in self._settling:
            task.cancel()
        await asyncio.gather(*self._settling, return_exceptions=True)

    async def wait(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Give servers a moment before this tool of the surface is called."""
        if not self._settling:
            return
        starting = self._settling = {task: source for task, source in self._settling.items() if not task.done()}
        if not starting or (tool in CALLERS and arguments.get("name") in self._catalog):
            return
        if tool in CALLERS:
            # Whoever names a tool knows that it is there: its server is waited for, and that has an end.
            asked = str(arguments.get("name")).strip()
            if own := [task for task, source in starting.items() if _is_of(asked, source)]:
                await asyncio.wait(own)
            return
        held = {one.source for one in self._catalog}
        awaited = [task for task, source in starting.items() if source.name not in held]
        left = self._until - asyncio.get_running_loop().time()
        if awaited and left > 0:
            await asyncio.wait(awaited, timeout=left)


def _is_of(tool: str, source: Source) -> bool:
    """Whether a tool of this name would be one of this source."""
    return isinstance(source, McpSource) and tool.startswith(f"{source.names.prefix}{SEPARATOR}")
