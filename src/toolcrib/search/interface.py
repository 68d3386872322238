"""What an index does for whoever searches, and one that is made at its first use.

This file does not load numpy: a run that never searches starts sooner.
"""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from toolcrib.search.result import Explanation, Hit, SearchResult

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib.search.corpus import ToolFeed, ToolFilter
    from toolcrib.search.index import ToolIndex
    from toolcrib.search.query import SearchOptions


class SearchIndex(Protocol):
    """An index, wherever it is kept: in this process (`ToolIndex`), or in a database (`PostgresIndex`)."""

    def __len__(self) -> int: ...

    def search(
        self, query: str, *, limit: int = 5, where: "ToolFilter | None" = None, options: "SearchOptions | None" = None
    ) -> SearchResult: ...

    async def search_async(
        self, query: str, *, limit: int = 5, where: "ToolFilter | None" = None, options: "SearchOptions | None" = None
    ) -> SearchResult: ...

    def only(self, where: "ToolFilter") -> "SearchIndex": ...

    def explain(self, query: str, name: str, *, options: "SearchOptions | None" = None) -> Explanation: ...

    def similar(self, name: str, *, limit: int = 5) -> tuple[Hit, ...]: ...

    def learn(self, query: str, name: str) -> None: ...

    @property
    def close(self) -> Callable[[], None]:
        """Stop following the catalog, and close all connections."""
        ...


class LazyIndex:
    """A `ToolIndex` with the built-in embedder, made when it is first asked for something."""

    def __init__(self, catalog: "ToolFeed", *, folder: "Path | None" = None) -> None:
        self._catalog = catalog
        self._folder = folder
        self._index: ToolIndex | None = None
        self._lock = Lock()  # searches may come from any thread

    def _made(self) -> "ToolIndex":
        with self._lock:
            if self._index is None:
                from toolcrib.search.index import ToolIndex  # late: that is what this class is for

                self._index = ToolIndex(self._catalog, folder=self._folder)
            return self._index

    def __len__(self) -> int:
        return len(self._made())

    def search(
        self, query: str, *, limit: int = 5, where: "ToolFilter | None" = None, options: "SearchOptions | None" = None
    ) -> SearchResult:
        """As `ToolIndex.search`."""
        return self._made().search(query, limit=limit, where=where, options=options)

    async def search_async(
        self, query: str, *, limit: int = 5, where: "ToolFilter | None" = None, options: "SearchOptions | None" = None
    ) -> SearchResult:
        """As `ToolIndex.search_async`."""
        return await self._made().search_async(query, limit=limit, where=where, options=options)

    def only(self, where: "ToolFilter") -> SearchIndex:
        """As `ToolIndex.only`."""
        return self._made().only(where)

    def explain(self, query: str, name: str, *, options: "SearchOptions | None" = None) -> Explanation:
        """As `ToolIndex.explain`."""
        return self._made().explain(query, name, options=options)

    def similar(self, name: str, *, limit: int = 5) -> tuple[Hit, ...]:
        """As `ToolIndex.similar`."""
        return self._made().similar(name, limit=limit)

    def learn(self, query: str, name: str) -> None:
        """As `ToolIndex.learn`."""
        self._made().learn(query, name)

    @property
    def close(self) -> Callable[[], None]:
        """Stop following the catalog, if that has begun."""
        return (lambda: None) if self._index is None else self._index.close
