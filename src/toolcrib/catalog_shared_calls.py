"""Who runs a tool of the shared catalog here: the catalog brings what a tool is, each replica brings its code."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from toolcrib.catalog import Catalog
from toolcrib.sources.source import Source
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool


class Runner(Protocol):
    """Has the code of one source's tools, or knows the way to it."""

    def known(self, name: str) -> Tool | None:
        """The tool with its code, if it is at hand."""
        ...

    async def find(self, name: str) -> Tool | None:
        """The same, after whatever has to be opened for it."""
        ...

    async def close(self) -> None:
        """Let go of what was opened."""
        ...


@dataclass(frozen=True, slots=True)
class FromCatalog:
    """Tools whose code is in this process: a Python module, loaded as a catalog."""

    catalog: Catalog

    def known(self, name: str) -> Tool | None:
        return self.catalog.get(name) if name in self.catalog else None

    async def find(self, name: str) -> Tool | None:
        return self.known(name)

    async def close(self) -> None:
        return


class FromSource:
    """Tools of a source that this replica opens itself, at the first call: an MCP server, a service."""

    def __init__(self, make: Callable[[Catalog], Source]) -> None:
        self._make = make
        self._catalog = Catalog()
        self._source: Source | None = None
        self._opening = asyncio.Lock()

    def known(self, name: str) -> Tool | None:
        return self._catalog.get(name) if name in self._catalog else None

    async def find(self, name: str) -> Tool | None:
        async with self._opening:
            if self._source is None:
                self._source = self._make(self._catalog)
                await self._source.start()
        if name not in self._catalog:
            await self._source.settled()
        return self.known(name)

    async def close(self) -> None:
        async with self._opening:
            source, self._source = self._source, None
        if source is not None:
            await source.stop()


@dataclass(frozen=True, slots=True)
class SharedCall:
    """Runs a tool of the shared catalog with the code that this replica has."""

    name: str
    source: str
    runners: Mapping[str, Runner]

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        runner = self.runners.get(self.source)
        if runner is None:
            return ToolResult.failure(f"{self.name} cannot be called here: this server has no access to {self.source}.")
        tool = await runner.find(self.name)
        if tool is None:
            return ToolResult.failure(f"{self.name} cannot be called now: {self.source} does not have it here.")
        return await tool.call(arguments, context)
