"""Sources that are read rather than connected to: a document, a card. How they start, settle and stop."""

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress

from toolcrib.sources.shelf import Shelf
from toolcrib.sources.source import ToolHolder


class ReadSource(ABC):
    """Reads once when it starts, again when it is asked to, and takes its tools away when it stops."""

    def __init__(self, name: str, catalog: ToolHolder) -> None:
        self.name = name  # what its tools have as `source`
        self._shelf = Shelf(catalog)
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
        """Take the tools out of the catalogue."""
        starting, self._starting = self._starting, None
        if starting is not None:
            starting.cancel()
            with suppress(asyncio.CancelledError):
                await starting
        self._shelf.clear()
