"""The index: finds the tools that serve a request, in any language, and says so when none does.

It follows a catalog: the next search sees what was added, removed or replaced. Searches may come from any thread. The
steps of a search: lexical pass, embedding unless that is sufficient, fusion, exact names, abstention, companions.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from threading import RLock
from time import monotonic, perf_counter
from typing import NamedTuple, Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from toolcrib.errors import UnknownToolError, require
from toolcrib.search.cache import IndexCache
from toolcrib.search.corpus import CatalogChange, Corpus, FilteredFeed, ToolFeed, ToolFilter, hits_of, similar
from toolcrib.search.dense import passages
from toolcrib.search.embedders.builtin import BuiltinEmbedder, checked
from toolcrib.search.embedders.embedder import Embedder, FallibleEmbedder
from toolcrib.search.interface import SearchIndex
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.query import (
    DEFAULT_OPTIONS,
    STRATEGIES,
    Answer,
    ExplainedTool,
    FusedResult,
    PendingQuery,
    QueryRunner,
    SearchOptions,
    Strategy,
    clamp_limit,
    decide,
    explanation,
    has_score,
    strategy_for,
    without_search,
)
from toolcrib.search.result import Explanation, Hit, SearchResult
from toolcrib.search.usage import Usage
from toolcrib.tools.tool import Tool

MAX_VIEWS = 16  # a role each, as a rule; a view is a whole index
OFF_LOOP_FROM = 50  # tools waiting to be read in: more would hold up an event loop


class ToolSet(ToolFeed, Protocol):
    """A catalog whose tools can also be looked up by name."""

    def get(self, name: str) -> Tool: ...

    def __contains__(self, tool: object, /) -> bool: ...

    def __iter__(self) -> Iterator[Tool]: ...


def open_index(
    catalog: ToolSet,
    embedder: Embedder | None = None,
    *,
    url: str | None = None,
    tenant: str = "catalog",
    folder: Path | None = None,
) -> SearchIndex:
    """An index that follows a catalog: in memory, or with `url` in that PostgreSQL database, where replicas share it.

    In the database each embedder has an index of its own under the tenant. Close the index when you are done: it holds
    connections. One in memory is stored in `folder`, if that is given.

    Raises:
        MissingExtraError: The packages for PostgreSQL are not installed.
    """
    if url is None:
        return ToolIndex(catalog, embedder, folder=folder)
    require("postgres", "An index in PostgreSQL")
    from toolcrib.postgres.index.index import PostgresIndex  # late: only this index needs the extra

    embedder = embedder or BuiltinEmbedder()
    return PostgresIndex(url, embedder, tenant=f"{tenant}:{embedder.id}", catalog=catalog)


class ToolIndex:
    """Finds tools by the words of a request and by its meaning.

    `options` hold for searches that bring none of their own. `clock` gives seconds: an embedder that failed is left
    alone for `RETRY_SECONDS` of them. In `folder` what was built is stored, if it is large, and the next index with the
    same tools loads it; an embedder of your own then needs an `id` that changes with its vectors.
    """

    def __init__(
        self,
        catalog: ToolFeed,
        embedder: Embedder | None = None,
        *,
        usage: Usage | None = None,
        strategies: Sequence[Strategy] = STRATEGIES,
        options: SearchOptions = DEFAULT_OPTIONS,
        clock: Callable[[], float] = monotonic,
        folder: Path | None = None,
    ) -> None:
        self._catalog = catalog
        self._embedder = checked(embedder or BuiltinEmbedder())
        self._usage = usage or Usage()
        self._strategies = strategies
        self._options = options
        self._clock = clock
        self._corpus = Corpus(self._embedder, self._usage)
        self._runner = QueryRunner(self._corpus, self._embedder)
        self._folder = folder
        self._cache = None if folder is None else IndexCache(folder, self._embedder)
        self._announced: deque[CatalogChange] = deque()
        self._changes = 0
        self._lock = RLock()
        self._fallible = FallibleEmbedder(self._embedder, clock)
        self._views: dict[ToolFilter, ToolIndex] = {}  # the one used last is the last
        self._learners: WeakSet[ToolIndex] = WeakSet([self])  # this index and its views: what one learns, all know
        # The listener only queues the change: a catalog never waits for an embedder.
        self.close = catalog.subscribe(self._announced.append, replay=True)

    def __len__(self) -> int:
        with self._lock:
            self._follow()
            return len(self._corpus)

    def search(
        self, query: str, *, limit: int = 5, where: ToolFilter | None = None, options: SearchOptions | None = None
    ) -> SearchResult:
        """The tools that serve a request, best first, at most `limit`; none when nothing fits.

        Tools for which `where` is false are left out of the answer; how rare a word is still counts them. Where nobody
        may learn that they exist, search `only(where)`.
        """
        began = perf_counter()
        limit = clamp_limit(limit)
        options = options or self._options
        if (empty := without_search(query, limit, options)) is not None:
            return empty
        pending = self._start(query, options, where)
        with self._lock:
            result, answer = self._finish(pending)
            hits = hits_of(self._corpus, self._usage, result.words.matches[0].terms, answer.ranking, limit, where)
        return SearchResult(
            hits=hits,
            confidence=answer.confidence,
            path=answer.path,
            took_ms=(perf_counter() - began) * 1000,
            reason=answer.reason,
            warnings=pending.warnings,
        )

    async def search_async(
        self, query: str, *, limit: int = 5, where: ToolFilter | None = None, options: SearchOptions | None = None
    ) -> SearchResult:
        """The same from an event loop, which is never held up by a slow embedder or a large catalog."""
        waiting = sum(len(change.added) for change in tuple(self._announced))
        is_lexical = (options or self._options).arms == "lexical"
        slow = (self._embedder.remote and not is_lexical) or waiting > OFF_LOOP_FROM
        if slow or not self._lock.acquire(blocking=False):
            import asyncio  # late: a search that waits for nobody needs no event loop

            return await asyncio.to_thread(self.search, query, limit=limit, where=where, options=options)
        try:
            return self.search(query, limit=limit, where=where, options=options)
        finally:
            self._lock.release()

    def only(self, where: ToolFilter) -> "ToolIndex":
        """An index of just the tools for which `where` is true: no result depends on the others.

        It follows the catalog and shares what is learned. Call it before each search, with the same `where`: it is
        built once, and follows no more after `MAX_VIEWS` others. Whether a tool passes may not change while it is held.
        """
        with self._lock:
            view = self._views.pop(where, None) or self._view(where)
            self._views[where] = view
            if len(self._views) > MAX_VIEWS:
                self._views.pop(next(iter(self._views))).close()
            return view

    def explain(self, query: str, name: str, *, options: SearchOptions | None = None) -> Explanation:
        """Why a tool has its rank for a request."""
        pending = self._start(query, options or self._options, None, complete=True)
        with self._lock:
            tool_id = self._tool_id(name)
            result, answer = self._finish(pending)
            tool = self._explained(tool_id, pending.query.text, result)
            return explanation(pending.query, result, answer, tool, self._corpus.meanings, pending.warnings)

    def similar(self, name: str, *, limit: int = 5) -> tuple[Hit, ...]:
        """The tools nearest in meaning to one tool; without a dense arm, those that share its words."""
        is_lexical = self._options.arms == "lexical"
        with self._lock:
            self._catch_up(is_lexical=is_lexical)
            return similar(self._corpus, self._tool_id(name), max(0, limit), is_lexical=is_lexical)

    def learn(self, query: str, name: str) -> None:
        """Remember that a request led to a tool that was really used."""
        with self._lock:
            self._follow()
            self._tool_id(name)
        if self._usage.learn(query, name):
            self._follow_use([name])

    def forget(self, name: str | None = None) -> None:
        """Forget what was learned about one tool, or everything."""
        forgotten = [tool for tool in self._usage if name in (None, tool)]
        self._usage.forget(name)
        self._follow_use(forgotten)

    def _view(self, where: ToolFilter) -> "ToolIndex":
        view = ToolIndex(
            FilteredFeed(self._catalog, where),
            self._embedder,
            usage=self._usage,
            strategies=self._strategies,
            options=self._options,
            clock=self._clock,
            folder=self._folder,
        )
        view._learners = self._learners
        self._learners.add(view)
        return view

    def _follow_use(self, names: Sequence[str]) -> None:
        """Let the vectors of these tools move with their use, here and in every view."""
        for index in tuple(self._learners):
            with index._lock:
                index._follow()
                for name in names:
                    if (tool_id := index._corpus.tool_id(name)) is not None:
                        index._corpus.queue_update(tool_id)

    def _start(
        self, text: str, options: SearchOptions, where: ToolFilter | None, *, complete: bool = False
    ) -> "_Pending":
        """Run the lexical pass, and embed the query if its vectors are needed; with `complete` also if they are not."""
        with self._lock:
            warnings = self._catch_up(is_lexical=options.arms == "lexical")
            strategy = strategy_for(len(self._corpus), self._strategies)
            query = self._runner.start(text, options, strategy, self._allowed(where))
            pending = _Pending(text, query, where, self._changes, warnings)
        if not query.needs_vectors and not (complete and options.arms == "both"):
            return pending
        # Outside the lock: this may be a call over the network, and other searches need not wait for it.
        vectors, failed = self._fallible.embed_queries(query.words.corrected)
        return pending._replace(vectors=vectors, warnings=warnings or failed)

    def _finish(self, pending: "_Pending") -> tuple[FusedResult, Answer]:
        """Rank the tools and decide. Hold the lock until the hits are built: ids are valid only while it is held."""
        query, where = pending.query, pending.where
        if pending.changes != self._changes:
            words = self._runner.lexical_pass(query.words.texts, self._allowed(where), query.strategy)
            query = query._replace(words=words)
        result = self._runner.finish(query, None if self._corpus.dense is None else pending.vectors)
        named = self._corpus.ids_named_in(query.text)
        if where is not None:
            named = [tool_id for tool_id in named if where(self._corpus.tool(tool_id))]
        learned = [self._corpus.tool_id(name) for name in self._usage.led_to(pending.text)]
        there = [tool_id for tool_id in learned if tool_id is not None]
        if where is not None:
            there = [tool_id for tool_id in there if where(self._corpus.tool(tool_id))]
        return result, decide(query, result, named, tools=len(self._corpus), learned=there)

    def _explained(self, tool_id: int, query: str, result: FusedResult) -> ExplainedTool:
        corpus = self._corpus
        tool, nearest = corpus.tool(tool_id), ""
        if corpus.dense is not None and result.vector is not None and has_score(result, tool_id):
            nearest = passages(tool)[corpus.dense.nearest_passage(result.vector, tool_id)]
        return ExplainedTool(
            name=tool.name,
            tool_id=tool_id,
            every=corpus.lexical.search(query, len(corpus)),
            matched=corpus.lexical.matched([tool_id], result.words.matches[0].terms)[0],
            nearest=nearest,
            tools=len(corpus),
        )

    def _follow(self) -> None:
        """Apply what the catalog announced, without the embedder: all at once, a tool that changed often only once."""
        # Not what comes meanwhile: catalogs can change faster than an index reads.
        if waiting := [self._announced.popleft() for _ in range(len(self._announced))]:
            removed, added = dict[str, None](), dict[str, Tool]()
            for change in waiting:
                for name in change.removed:
                    added.pop(name, None)
                    removed[name] = None
                added.update((tool.name, tool) for tool in change.added)
            # By name: an index that is built at once is the same to the last bit, in whatever order tools came.
            tools: Sequence[Tool] = sorted(added.values(), key=attrgetter("name"))
            if self._cache is not None and not len(self._corpus):
                tools = self._cache.restore(self._corpus, tools)
            self._corpus.apply(list(removed), tools)
            self._changes += len(waiting)

    def _catch_up(self, *, is_lexical: bool) -> tuple[str, ...]:
        """Make both arms current, or the lexical one alone; gives warnings when the dense arm could not be."""
        self._follow()
        if is_lexical or not self._corpus.has_pending:
            return ()
        warnings = self._fallible.run(self._corpus.embed_pending)[1]
        if self._cache is not None and not warnings:
            self._cache.store(self._corpus)
        return warnings

    def _allowed(self, where: ToolFilter | None) -> NDArray[np.bool_] | None:
        if where is None:
            return None
        mask = np.zeros(self._corpus.id_count, dtype=np.bool_)
        for tool_id, tool in self._corpus:
            mask[tool_id] = where(tool)
        return mask

    def _tool_id(self, name: str) -> int:
        tool_id = self._corpus.tool_id(name)
        if tool_id is None:
            raise UnknownToolError(name, [tool.name for _, tool in self._corpus])
        return tool_id


class _Pending(NamedTuple):
    """A query between its two halves."""

    text: str  # as it was asked
    query: PendingQuery
    where: ToolFilter | None
    changes: int  # how many the index had applied at the lexical pass
    warnings: tuple[str, ...]
    vectors: Vectors | None = None
