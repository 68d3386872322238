"""A replica's own copy of the shared catalog, as a source of tools: current within a second, complete after a break.

It is told of changes by PostgreSQL and fetches what came after the revision it has. When the connection was lost, or
PostgreSQL was away, it does the same as soon as a connection stands: what went meanwhile left a trace.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import CatalogError, StoreError, ToolDefinitionError
from toolcrib.postgres.catalog import CHANNEL, SharedCatalog, SharedTool, load_tool
from toolcrib.postgres.notifications import Listener
from toolcrib.sources.source import Source, SourceState, ToolSink
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

# Who runs a tool of the shared catalog here: the catalog brings what a tool is, each replica brings its code.


class Runner(Protocol):
    """Has the code of one source's tools, or can open it."""

    def known(self, name: str) -> Tool | None:
        """The tool with its code, if this process has it."""
        ...

    async def find(self, name: str) -> Tool | None:
        """The same, after opening what it needs."""
        ...

    async def close(self) -> None:
        """Close what was opened."""
        ...


@dataclass(frozen=True, slots=True)
class CatalogRunner:
    """Tools whose code is in this process: a Python module, loaded as a catalog."""

    catalog: Catalog

    def known(self, name: str) -> Tool | None:
        return self.catalog.get(name) if name in self.catalog else None

    async def find(self, name: str) -> Tool | None:
        return self.known(name)

    async def close(self) -> None:
        return


class SourceRunner:
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
            await self._source.wait_until_settled()
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


PAUSE_SECONDS = 0.5  # after the database could not be read

logger = logging.getLogger(__name__)


class SharedSource:
    """Keeps a catalog equal to the shared one. `runners` have the code of tools, by their source."""

    def __init__(
        self,
        shared: SharedCatalog,
        catalog: ToolSink,
        *,
        runners: Mapping[str, Runner] | None = None,
        closes_database: bool = False,
    ) -> None:
        self._shared = shared
        self._catalog = catalog
        self._runners = dict(runners or {})
        self._closes_database = closes_database
        self._revision = 0
        self._held: dict[str, Tool] = {}
        self._news = asyncio.Event()
        self._settled = asyncio.Event()
        self._moved = asyncio.Condition()
        self._listener = Listener(shared.database, CHANNEL, self._on_notification)
        self._following: asyncio.Task[None] | None = None
        self._catching_up = asyncio.Lock()
        self._problem = ""

    @property
    def name(self) -> str:
        """Its name in lists of sources."""
        return "shared"

    @property
    def state(self) -> SourceState:
        if self._problem:
            return SourceState.DOWN
        return SourceState.READY if self._settled.is_set() else SourceState.STARTING

    @property
    def problem(self) -> str:
        """Why it is behind, in a sentence; empty if it is not."""
        return self._problem

    @property
    def revision(self) -> int:
        """The revision of the shared catalog that this copy has."""
        return self._revision

    async def start(self) -> None:
        """Begin to follow the shared catalog; returns at once."""
        if self._following is None:
            self._news.set()
            self._following = asyncio.create_task(self._follow(), name="follows the shared catalog")
            await self._listener.start()

    async def wait_until_settled(self) -> None:
        """Wait until the tools are here, or until the reason why not is known."""
        await self._settled.wait()

    async def reached(self, revision: int) -> None:
        """Wait until this copy has a revision of the shared catalog."""
        async with self._moved:
            await self._moved.wait_for(lambda: self._revision >= revision)

    async def refresh(self) -> None:
        """Fetch what changed, now. If the database cannot be read, `problem` says so."""
        async with self._catching_up:
            try:
                revision, rows = await self._shared.since(self._revision)
            except StoreError as error:
                self._problem = str(error)
                logger.warning("The shared catalog cannot be read: %s", error)
            else:
                self._apply(rows)
                self._problem, self._revision = "", revision
            self._settled.set()
        async with self._moved:
            self._moved.notify_all()

    async def stop(self) -> None:
        """Stop following, close what was opened to run tools, and remove the tools from the catalog."""
        following, self._following = self._following, None
        if following is not None:
            following.cancel()
            await asyncio.wait({following})
        await self._listener.close()
        for runner in dict.fromkeys(self._runners.values()):
            await runner.close()
        if self._closes_database:
            await self._shared.database.close()
        self._take_away(list(self._held))
        self._revision = 0
        self._settled.clear()

    async def __aenter__(self) -> Self:
        await self.start()
        await self.wait_until_settled()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _on_notification(self, tenant: str | None) -> None:
        if tenant in (None, self._shared.notified_as):
            self._news.set()

    async def _follow(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            await self.refresh()
            if self._problem:
                self._news.set()
                await asyncio.sleep(PAUSE_SECONDS)

    def _apply(self, rows: Sequence[SharedTool]) -> None:
        self._take_away([row.name for row in rows if row.definition is None and row.name in self._held])
        tools = [tool for row in rows if row.definition is not None and (tool := self._read(row, row.definition))]
        for tool in tools:
            if tool.name in self._held:
                self._catalog.replace(tool)
                self._held[tool.name] = tool
        self._add([tool for tool in tools if tool.name not in self._held])

    def _add(self, tools: Sequence[Tool]) -> None:
        try:
            self._catalog.add_all(tools)
        except CatalogError as error:
            if len(tools) == 1:
                logger.warning("A tool of the shared catalog is left out: %s", error)
                return
            for tool in tools:
                self._add([tool])
        else:
            self._held |= {tool.name: tool for tool in tools}

    def _take_away(self, names: Sequence[str]) -> None:
        for name in names:
            del self._held[name]
            with suppress(CatalogError):  # somebody else took it away; that is what was wanted
                self._catalog.remove(name)

    def _read(self, row: SharedTool, definition: str) -> Tool | None:
        runner = self._runners.get(row.source)
        at_hand = runner.known(row.name) if runner is not None else None
        try:
            return load_tool(
                definition,
                SharedCall(row.name, row.source, self._runners),
                lambda: at_hand.extraction if at_hand is not None else None,
            )
        except (CatalogError, ToolDefinitionError, TypeError, ValueError, KeyError) as error:
            logger.warning("%s of the shared catalog cannot be read here: %s", row.name, error)
            return None
