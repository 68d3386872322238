"""Several sources under one hand: started side by side, none waiting for another, and stopped together."""

import asyncio
from collections.abc import Iterable, Mapping
from types import TracebackType

from toolcrib.sources.source import Source, SourceState


class SourceGroup:
    """The sources of one catalogue. `async with SourceGroup(sources):` starts them and stops them."""

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
