"""What a source of tools is: something that has a state and keeps a catalog current."""

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

# When to stop asking somebody who does not answer, and when to ask again.

Clock: TypeAlias = Callable[[], float]  # seconds that only grow, such as `time.monotonic`


class Breaker:
    """Counts failures in a row. After too many it asks for a pause, which doubles with each further failure.

    When a pause is over, one caller may try (`allows`); the others wait for what comes of it.
    """

    def __init__(
        self, *, failures_allowed: int, first_pause: float, longest_pause: float, clock: Clock = time.monotonic
    ) -> None:
        self._failures_allowed = failures_allowed
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._clock = clock
        self._failures = 0
        self._closed_until: float | None = None

    def allows(self) -> bool:
        """Whether to ask now. While it recovers, only one caller hears yes."""
        if self._closed_until is None:
            return True
        if self.pause() > 0:
            return False
        self._closed_until = self._clock() + self._pause_after(self._failures)
        return True

    def pause(self) -> float:
        """Seconds until the next try makes sense; 0 when it makes sense now."""
        return max(0.0, self._closed_until - self._clock()) if self._closed_until is not None else 0.0

    def failed(self) -> None:
        """It did not answer."""
        self._failures += 1
        if self._failures >= self._failures_allowed:
            self._closed_until = self._clock() + self._pause_after(self._failures)

    def succeeded(self) -> None:
        """It answered: all is forgotten."""
        self._failures = 0
        self._closed_until = None

    def _pause_after(self, failures: int) -> float:
        doublings = min(failures - self._failures_allowed, 30)  # far beyond any pause, far below a number too large
        return min(self._first_pause * 2**doublings, self._longest_pause)


class SourceState(StrEnum):
    """How a source is; the words are shown to the model."""

    READY = "ready"
    STARTING = "still starting"
    DOWN = "not reachable"
    NEEDS_LOGIN = "needs a login"
    DISABLED = "switched off"


class ToolSink(Protocol):
    """What a source needs of a catalog. Who stands between the two can look at each tool first."""

    def add_all(self, tools: Iterable[Tool]) -> None: ...
    def replace(self, tool: Tool) -> None: ...
    def remove(self, name: str) -> object: ...


class Source(Protocol):
    """Where tools come from. When something outside is broken its methods do not raise: it has a state for that."""

    @property
    def name(self) -> str:
        """What its tools have as `source`, such as `mcp:github`."""
        ...

    @property
    def state(self) -> SourceState: ...

    @property
    def problem(self) -> str:
        """Why it is not ready, in a sentence; empty if it is."""
        ...

    async def start(self) -> None:
        """Begin to keep the catalog current; comes back at once."""
        ...

    async def settled(self) -> None:
        """Wait until it is known how the source is: ready, or not."""
        ...

    async def refresh(self) -> None:
        """Bring the catalog up to date now."""
        ...

    async def stop(self) -> None:
        """Close everything, and take its tools out of the catalog."""
        ...


@runtime_checkable
class ReportsProgress(Protocol):
    """A call's context that wants to hear how far a long call is. FastMCP's own `Context` is one."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...


# Several sources under one hand: started side by side, none waiting for another, and stopped together.


class SourceGroup:
    """The sources of one catalog. `async with SourceGroup(sources):` starts them and stops them."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.sources = tuple(sources)

    def states(self) -> Mapping[str, SourceState]:
        """How each is now, by name: what surfaces tell a model when a search finds nothing."""
        return {source.name: source.state for source in self.sources}

    async def start(self) -> None:
        """Begin with all of them; comes back at once."""
        await asyncio.gather(*(source.start() for source in self.sources))

    async def settled(self) -> None:
        """Wait until it is known how each of them is."""
        await asyncio.gather(*(source.settled() for source in self.sources))

    async def refresh(self) -> None:
        """Bring all their tools up to date now."""
        await asyncio.gather(*(source.refresh() for source in self.sources))

    async def stop(self) -> None:
        """Close them all, also when one of them fails to."""
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


# The tools of one source in a catalog: what is new is added, what changed replaced, what went removed.


class SourceTools:
    """One source's part of a catalog. It touches no tool that it did not put there."""

    def __init__(self, catalog: ToolSink) -> None:
        self._catalog = catalog
        self._tools: dict[str, Tool] = {}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What stands on it, in the order it came."""
        return tuple(self._tools.values())

    def keep(self, tools: Iterable[Tool]) -> list[str]:
        """Hold exactly these tools; gives a sentence for each that the catalog refused."""
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
        """Take everything away."""
        self.keep(())

    def _add(self, tools: list[Tool]) -> list[str]:
        try:
            self._catalog.add_all(tools)
        except CatalogError as error:
            if len(tools) == 1:
                return [str(error)]
            return [refused for tool in tools for refused in self._add([tool])]  # the others can still be held
        self._tools |= {tool.name: tool for tool in tools}
        return []

    def _remove(self, name: str) -> None:
        del self._tools[name]
        try:
            self._catalog.remove(name)
        except CatalogError:  # somebody else took it away; that is what was wanted
            return


# Sources that are read rather than connected to: a document, a card. How they start, settle and stop.


class DocumentSource(ABC):
    """Reads once when it starts, again when it is asked to, and takes its tools away when it stops."""

    def __init__(self, name: str, catalog: ToolSink) -> None:
        self.name = name  # what its tools have as `source`
        self._shelf = SourceTools(catalog)
        self._starting: asyncio.Task[None] | None = None

    @abstractmethod
    async def refresh(self) -> None:
        """Read it again; a failure is told by `state` and `problem`, and the tools stay as they were."""

    async def start(self) -> None:
        """Begin to read; comes back at once."""
        if self._starting is None:
            self._starting = asyncio.create_task(self.refresh(), name=self.name)

    async def settled(self) -> None:
        """Wait until it is read, or cannot be."""
        if self._starting is not None:
            await asyncio.wait([self._starting])

    async def stop(self) -> None:
        """Take the tools out of the catalog."""
        starting, self._starting = self._starting, None
        if starting is not None:
            starting.cancel()
            with suppress(asyncio.CancelledError):
                await starting
        self._shelf.clear()
