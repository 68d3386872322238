"""What a source of tools is, and the parts that sources share: circuit breaker, group, catalog updates."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from types import TracebackType
from typing import Protocol, TypeAlias, runtime_checkable

from toolcrib.errors import CatalogError
from toolcrib.tools.tool import Tool

# When to stop calling a service that does not answer, and when to try again.

Clock: TypeAlias = Callable[[], float]  # monotonic seconds, such as `time.monotonic`


class Breaker:
    """A circuit breaker. After too many consecutive failures it opens for a pause that doubles with each failure.

    When the pause is over, `allows` lets one caller try; the others are refused until that call succeeds.
    """

    def __init__(
        self, *, failures_allowed: int, first_pause: float, longest_pause: float, clock: Clock = time.monotonic
    ) -> None:
        self._failures_allowed = failures_allowed
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._clock = clock
        self._failures = 0
        self._open_until: float | None = None

    def allows(self) -> bool:
        """Whether a call may be made now. After a pause, only one caller may try."""
        if self._open_until is None:
            return True
        if self.pause() > 0:
            return False
        self._open_until = self._clock() + self._pause_after(self._failures)
        return True

    def pause(self) -> float:
        """Seconds until the next attempt is allowed; 0 if it is allowed now."""
        return max(0.0, self._open_until - self._clock()) if self._open_until is not None else 0.0

    def failed(self) -> None:
        """Record a call without an answer."""
        self._failures += 1
        if self._failures >= self._failures_allowed:
            self._open_until = self._clock() + self._pause_after(self._failures)

    def succeeded(self) -> None:
        """Record an answer: resets all failures."""
        self._failures = 0
        self._open_until = None

    def _pause_after(self, failures: int) -> float:
        doublings = min(
            failures - self._failures_allowed, 30
        )  # beyond any longest pause, and small enough not to overflow
        return min(self._first_pause * 2**doublings, self._longest_pause)


class SourceState(StrEnum):
    """The state of a source. The values are shown to the model."""

    READY = "ready"
    STARTING = "still starting"
    DOWN = "not reachable"
    NEEDS_LOGIN = "needs a login"
    DISABLED = "switched off"


class ToolSink(Protocol):
    """The part of a catalog that a source uses. A filter, such as `Quarantine`, can stand in for the catalog."""

    def add_all(self, tools: Iterable[Tool]) -> None: ...
    def replace(self, tool: Tool) -> None: ...
    def remove(self, name: str) -> object: ...


class Source(Protocol):
    """Where tools come from. Its methods do not raise if something outside fails; `state` and `problem` report that."""

    @property
    def name(self) -> str:
        """The `source` of its tools, such as `mcp:github`."""
        ...

    @property
    def state(self) -> SourceState: ...

    @property
    def problem(self) -> str:
        """Why it is not ready, as a sentence; empty if it is."""
        ...

    async def start(self) -> None:
        """Start keeping the catalog up to date; returns at once."""
        ...

    async def wait_until_settled(self) -> None:
        """Wait until the source is either ready or known not to be."""
        ...

    async def refresh(self) -> None:
        """Update the catalog now."""
        ...

    async def stop(self) -> None:
        """Close everything, and remove its tools from the catalog."""
        ...


@runtime_checkable
class ReportsProgress(Protocol):
    """A call context that accepts progress reports, such as FastMCP's `Context`."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...


# A group of sources that start concurrently and stop together.


class SourceGroup:
    """The sources of one catalog. `async with SourceGroup(sources):` starts them and stops them."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.sources = tuple(sources)

    def states(self) -> Mapping[str, SourceState]:
        """The current state of each source, by name. Surfaces show it to the model when a search finds nothing."""
        return {source.name: source.state for source in self.sources}

    async def start(self) -> None:
        """Start all sources; returns at once."""
        await asyncio.gather(*(source.start() for source in self.sources))

    async def wait_until_settled(self) -> None:
        """Wait until each source is either ready or known not to be."""
        await asyncio.gather(*(source.wait_until_settled() for source in self.sources))

    async def refresh(self) -> None:
        """Update the tools of all sources now."""
        await asyncio.gather(*(source.refresh() for source in self.sources))

    async def stop(self) -> None:
        """Stop all sources, even if one of them fails to stop."""
        outcomes = await asyncio.gather(*(source.stop() for source in self.sources), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def __aenter__(self) -> "SourceGroup":
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


# The tools of one source in a catalog: new ones are added, changed ones replaced, missing ones removed.


class SourceTools:
    """One source's part of a catalog. It changes no tool that it did not add."""

    def __init__(self, catalog: ToolSink) -> None:
        self._catalog = catalog
        self._tools: dict[str, Tool] = {}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of this source in the catalog, in the order they were added."""
        return tuple(self._tools.values())

    def sync(self, tools: Iterable[Tool]) -> list[str]:
        """Make the catalog contain exactly these tools of the source; gives an error text for each refused one."""
        wanted = {tool.name: tool for tool in tools}
        for name in [name for name in self._tools if name not in wanted]:
            self._remove(name)
        new = [tool for name, tool in wanted.items() if name not in self._tools]
        for name, tool in wanted.items():
            if name in self._tools and self._tools[name] != tool:
                self._catalog.replace(tool)
                self._tools[name] = tool
        return self._add(new)

    def clear(self) -> None:
        """Remove all tools of this source."""
        self.sync(())

    def _add(self, tools: list[Tool]) -> list[str]:
        try:
            self._catalog.add_all(tools)
        except CatalogError as error:
            if len(tools) == 1:
                return [str(error)]
            return [refused for tool in tools for refused in self._add([tool])]  # the others can still be added
        self._tools |= {tool.name: tool for tool in tools}
        return []

    def _remove(self, name: str) -> None:
        del self._tools[name]
        try:
            self._catalog.remove(name)
        except CatalogError:  # it has been removed already
            return


# The base of sources that read a document, such as an OpenAPI file or an agent card.


class DocumentSource(ABC):
    """Reads a document on `start` and on `refresh`, and removes its tools on `stop`."""

    def __init__(self, name: str, catalog: ToolSink) -> None:
        self.name = name  # the `source` of its tools
        self._source_tools = SourceTools(catalog)
        self._starting: asyncio.Task[None] | None = None

    @abstractmethod
    async def refresh(self) -> None:
        """Read the document again. On failure `state` and `problem` say why, and the tools stay unchanged."""

    async def start(self) -> None:
        """Start reading; returns at once."""
        if self._starting is None:
            self._starting = asyncio.create_task(self.refresh(), name=self.name)

    async def wait_until_settled(self) -> None:
        """Wait until the document has been read or could not be read."""
        if self._starting is not None:
            await asyncio.wait([self._starting])

    async def stop(self) -> None:
        """Remove the tools from the catalog."""
        starting, self._starting = self._starting, None
        if starting is not None:
            starting.cancel()
            with suppress(asyncio.CancelledError):
                await starting
        self._source_tools.clear()


def has_listed(source: Source) -> bool:
    """Whether a source has told its tools in this run; those that are cached were told earlier."""
    if isinstance(listed := getattr(source, "listed", None), bool):
        return listed
    if source.state is SourceState.READY:
        return True
    return source.state is SourceState.NEEDS_LOGIN and isinstance(source, DocumentSource)  # its document was read
