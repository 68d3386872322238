"""The index: finds the tools that serve a request, in any language, and says so when none does.

It follows a catalog by itself: what was added, removed or replaced is seen by the next search. Searches may come from
any thread. The walk of one search: exact name, words, meaning unless the words are sure, parts of the request, fusion,
confidence, companions.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from threading import RLock
from time import monotonic, perf_counter
from typing import Literal, NamedTuple, Protocol, TypeAlias
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from toolcrib.errors import UnknownToolError
from toolcrib.search.corpus import Corpus, Part, Step, ToolFeed, ToolFilter, answer, similar
from toolcrib.search.embedders.builtin import BuiltinEmbedder, checked
from toolcrib.search.embedders.embedder import Embedder, FallibleEmbedder
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.query import (
    STRATEGIES,
    FusedResult,
    QueryRunner,
    Strategy,
    Words,
    confidence,
    explanation,
    parts,
    strategy_for,
    verdict,
)
from toolcrib.search.result import Explanation, Hit, Path, SearchResult
from toolcrib.search.text import words
from toolcrib.search.usage import Usage
from toolcrib.tools.tool import Tool

Arms: TypeAlias = Literal["both", "lexical", "dense"]

MAX_LIMIT = 100
MAX_VIEWS = 16  # a role each, as a rule; a view is a whole index
OFF_LOOP_FROM = 50  # tools waiting to be read in: more would hold up an event loop


class ToolSet(ToolFeed, Protocol):
    """A catalog whose tools can also be looked up by name."""

    def get(self, name: str) -> Tool: ...

    def __contains__(self, tool: object, /) -> bool: ...

    def __iter__(self) -> Iterator[Tool]: ...


class SearchIndex(Protocol):
    """What the other rooms need of an index, wherever it is kept: in this process, or in a database."""

    def __len__(self) -> int: ...

    def search(self, query: str, *, limit: int = 5, where: ToolFilter | None = None) -> SearchResult: ...

    async def search_async(self, query: str, *, limit: int = 5, where: ToolFilter | None = None) -> SearchResult: ...

    def only(self, where: ToolFilter) -> "SearchIndex": ...

    def explain(self, query: str, name: str) -> Explanation: ...

    def similar(self, name: str, *, limit: int = 5) -> tuple[Hit, ...]: ...

    def learn(self, query: str, name: str) -> None: ...

    @property
    def close(self) -> Callable[[], None]:
        """Follow the catalog no more, and let go of connections."""
        ...


def open_index(catalog: ToolSet, embedder: Embedder | None = None, *, url: str | None = None) -> SearchIndex:
    """An index that follows a catalog: in memory, or with `url` in that PostgreSQL database, where replicas share it.

    In the database each embedder has an index of its own. Close one when you are done: it holds connections.
    """
    if url is None:
        return ToolIndex(catalog, embedder)
    from toolcrib.postgres.index.index import PostgresIndex  # late: an extra

    embedder = embedder or BuiltinEmbedder()
    return PostgresIndex(url, embedder, tenant=f"catalog:{embedder.id}", catalog=catalog)


class ToolIndex:
    """Finds tools by what a request says and by what it means.

    `arms`, `abstain` and `decompose` switch parts off, to compare and to look for causes. `clock` gives seconds: an
    embedder that failed is left alone for `RETRY_SECONDS` of them.
    """

    def __init__(
        self,
        catalog: ToolFeed,
        embedder: Embedder | None = None,
        *,
        usage: Usage | None = None,
        strategies: Sequence[Strategy] = STRATEGIES,
        arms: Arms = "both",
        abstain: bool = True,
        decompose: bool = True,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._catalog = catalog
        self._embedder = None if arms == "lexical" else checked(embedder or BuiltinEmbedder())
        self._usage = usage or Usage()
        self._strategies = strategies
        self._arms: Arms = arms
        self._abstain = abstain
        self._decompose = decompose
        self._clock = clock
        self._holdings = Corpus(self._embedder, self._usage)
        self._inquiry = QueryRunner(self._holdings, self._embedder)
        self._steps: deque[Step] = deque()
        self._changes = 0
        self._lock = RLock()
        self._asking = FallibleEmbedder(self._embedder, clock)
        self._views: dict[ToolFilter, ToolIndex] = {}  # the one asked for last stands last
        self._learners: WeakSet[ToolIndex] = WeakSet([self])  # this index and its views: what one learns, all know
        # The listener only notes the step: a catalog never waits for an embedder.
        self.close = catalog.subscribe(self._steps.append, replay=True)

    def __len__(self) -> int:
        with self._lock:
            self._follow()
            return len(self._holdings)

    def search(self, query: str, *, limit: int = 5, where: ToolFilter | None = None) -> SearchResult:
        """The tools that serve a request, best first, at most `limit`; none when nothing fits.

        Tools for which `where` is false are left out of the answer; how rare a word is still counts them. Where nobody
        may learn that they exist, search `only(where)`.
        """
        began = perf_counter()
        limit = max(0, min(limit, MAX_LIMIT))
        if not limit or not words(query):
            reason = "The request has no words." if limit else "No tools were wanted."
            return SearchResult(hits=(), confidence=0.0, path="none", took_ms=0.0, reason=reason)
        asked = self._ask(query, where)
        with self._lock:
            findings = self._findings(asked)
            ranking, path, reason = self._verdict(asked, findings)
            hits = answer(self._holdings, self._usage, findings.words.matches[0].asked, ranking, limit, where)
        return SearchResult(
            hits=hits,
            confidence=confidence(path, findings),
            path=path,
            took_ms=(perf_counter() - began) * 1000,
            reason=reason,
            warnings=asked.warnings,
        )

    async def search_async(self, query: str, *, limit: int = 5, where: ToolFilter | None = None) -> SearchResult:
        """The same from an event loop, which is never held up by a slow embedder or a large catalog."""
        waiting = sum(len(step.added) for step in tuple(self._steps))
        slow = (self._embedder is not None and self._embedder.remote) or waiting > OFF_LOOP_FROM
        if slow or not self._lock.acquire(blocking=False):
            import asyncio  # late: a search that waits for nobody needs no event loop

            return await asyncio.to_thread(self.search, query, limit=limit, where=where)
        try:
            return self.search(query, limit=limit, where=where)
        finally:
            self._lock.release()

    def only(self, where: ToolFilter) -> "ToolIndex":
        """An index of just the tools for which `where` is true: nothing it says depends on the others.

        It follows the catalog and shares what is learned. Ask for it before each search, with the same `where`: it is
        built once, and follows no more after `MAX_VIEWS` others. Whether a tool passes may not change while it is held.
        """
        with self._lock:
            view = self._views.pop(where, None) or self._view(where)
            self._views[where] = view
            if len(self._views) > MAX_VIEWS:
                self._views.pop(next(iter(self._views))).close()
            return view

    def explain(self, query: str, name: str) -> Explanation:
        """Why a tool stands where it stands for a request."""
        asked = self._ask(query, None, complete=True)
        with self._lock:
            number = self._number(name)
            findings = self._findings(asked)
            ranking, path, reason = self._verdict(asked, findings)
            return explanation(
                self._holdings,
                findings,
                asked.strategy,
                query,
                number,
                ranking=ranking,
                path=path,
                reason=reason,
                warnings=asked.warnings,
            )

    def similar(self, name: str, *, limit: int = 5) -> tuple[Hit, ...]:
        """The tools nearest in meaning to one tool; without a dense arm, those that share its words."""
        with self._lock:
            self._catch_up()
            return similar(self._holdings, self._number(name), max(0, limit))

    def learn(self, query: str, name: str) -> None:
        """Remember that a request led to a tool that was really used."""
        with self._lock:
            self._follow()
            self._number(name)
        if self._usage.learn(query, name):
            self._follow_use([name])

    def forget(self, name: str | None = None) -> None:
        """Forget what was learned about one tool, or everything."""
        moved = [tool for tool in self._usage if name in (None, tool)]
        self._usage.forget(name)
        self._follow_use(moved)

    def _view(self, where: ToolFilter) -> "ToolIndex":
        view = ToolIndex(
            Part(self._catalog, where),
            self._embedder,
            usage=self._usage,
            strategies=self._strategies,
            arms=self._arms,
            abstain=self._abstain,
            decompose=self._decompose,
            clock=self._clock,
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
                    if (number := index._holdings.number(name)) is not None:
                        index._holdings.move(number)

    def _ask(self, query: str, where: ToolFilter | None, *, complete: bool = False) -> "_Asked":
        """Take a request in, and embed it unless the words alone are sure; with `complete` also then."""
        with self._lock:
            warnings = self._catch_up()
            strategy = strategy_for(len(self._holdings), self._strategies)
            texts = (query, *(parts(query) if self._decompose and strategy.decompose else ()))
            said = self._inquiry.words(texts, self._allowed(where), strategy)
            asked = _Asked(
                query=query, where=where, strategy=strategy, said=said, changes=self._changes, warnings=warnings
            )
        if self._arms == "lexical" or (said.enough and self._arms == "both" and not complete):
            return asked
        # Outside the lock: this may be a call over the network, and other searches need not wait for it.
        vectors, failed = self._asking.embed_queries(said.meant)
        return asked._replace(vectors=vectors, warnings=warnings or failed)

    def _findings(self, asked: "_Asked") -> FusedResult:
        """What the arms say. The lock is held until the answer is made: numbers mean tools only that long."""
        said = asked.said
        if asked.changes != self._changes:
            self._holdings.commit()
            said = self._inquiry.words(said.texts, self._allowed(asked.where), asked.strategy)
        if asked.vectors is None or self._holdings.dense is None:
            return self._inquiry.lexical_only(said)
        if self._arms == "dense":
            return self._inquiry.dense_only(said, asked.vectors)
        both = self._inquiry.fused(said, asked.vectors, asked.strategy)
        if said.enough:  # the meaning was asked for to be shown, and has no say
            return self._inquiry.lexical_only(said)._replace(nearness=both.nearness, vector=both.vector)
        return both

    def _verdict(self, asked: "_Asked", findings: FusedResult) -> tuple[list[tuple[int, float]], Path, str]:
        """The ranking that becomes the answer, how it came about, and why it is empty."""
        where = asked.where
        named = [
            number for number in self._holdings.ids_named_in(asked.query) if where is None or where(self._tool(number))
        ]
        return verdict(findings, asked.strategy, named, tools=len(self._holdings), abstain=self._abstain)

    def _follow(self) -> None:
        """Take in what the catalog announced, without a word to the embedder."""
        while self._steps:
            step = self._steps.popleft()
            self._holdings.apply(step.removed, step.added)
            self._changes += 1

    def _catch_up(self) -> tuple[str, ...]:
        """Make both arms current; gives warnings when the dense arm could not be."""
        self._follow()
        self._holdings.commit()
        if not self._holdings.has_pending or self._embedder is None:
            return ()
        return self._asking.tried(self._holdings.embed_pending)[1]

    def _allowed(self, where: ToolFilter | None) -> NDArray[np.bool_] | None:
        if where is None:
            return None
        mask = np.zeros(self._holdings.numbers, dtype=np.bool_)
        for number, tool in self._holdings:
            mask[number] = where(tool)
        return mask

    def _number(self, name: str) -> int:
        number = self._holdings.number(name)
        if number is None:
            raise UnknownToolError(name, [tool.name for _, tool in self._holdings])
        return number

    def _tool(self, number: int) -> Tool:
        return self._holdings.tool(number)


class _Asked(NamedTuple):
    """A request on its way: what is known of it before the arms are compared."""

    query: str
    where: ToolFilter | None
    strategy: Strategy
    said: Words
    changes: int  # how many the index had taken in when the words were looked up
    warnings: tuple[str, ...]
    vectors: Vectors | None = None
