"""An index in PostgreSQL, for more tools than a process should hold: over 200,000, or small replicas.

It answers as `ToolIndex` does. What both arms say is judged by the same code; only where candidates come from differs:
pgvector's graph and a full-text index of our own terms, each within one tenant and within what a `Filter` shows.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic, perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from toolcrib.errors import PolicyError
from toolcrib.search.builtin_embedder import BuiltinEmbedder
from toolcrib.search.checked_embedder import checked
from toolcrib.search.embedder import Embedder, Vectors
from toolcrib.search.fallible_embedder import FallibleEmbedder
from toolcrib.search.following import Where
from toolcrib.search.index import MAX_LIMIT
from toolcrib.search.inquiry import Inquiry, Words
from toolcrib.search.nearness import Nearness
from toolcrib.search.parts import parts
from toolcrib.search.postgres_answer import answer, named_in
from toolcrib.search.postgres_dense import PostgresDense
from toolcrib.search.postgres_filter import Filter, SaysAsFilter
from toolcrib.search.postgres_lexical import PostgresLexical
from toolcrib.search.postgres_request import Request
from toolcrib.search.postgres_shelf import CONNECTIONS, PostgresShelf
from toolcrib.search.postgres_words import Size
from toolcrib.search.postgres_writer import PostgresWriter, drop_slow_indexes, make_slow_indexes
from toolcrib.search.result import SearchResult
from toolcrib.search.strategy import STRATEGIES, Strategy, strategy_for
from toolcrib.search.text import words
from toolcrib.search.verdict import confidence, verdict
from toolcrib.search.word_meanings import WordMeanings
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from psycopg import Connection


class PostgresIndex:
    """The tools of one tenant. It holds none of them itself: replicas may share it, and start at once.

    Use it in `with`, or `close` it.
    """

    def __init__(
        self,
        url: str,
        embedder: Embedder | None = None,
        *,
        tenant: str = "",
        strategies: Sequence[Strategy] = STRATEGIES,
        abstain: bool = True,
        decompose: bool = True,
        connections: int = CONNECTIONS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._embedder = checked(embedder or BuiltinEmbedder())
        self._reader = self._embedder if isinstance(self._embedder, BuiltinEmbedder) else BuiltinEmbedder()
        self._shelf = PostgresShelf(url, tenant, self._embedder, connections=connections)
        self._strategies = strategies
        self._abstain = abstain
        self._decompose = decompose
        self._filters: tuple[Filter, ...] = ()
        self._asking = FallibleEmbedder(self._embedder, clock)

    def __len__(self) -> int:
        """How many tools the tenant has."""
        return self._shelf.read(self._shelf.size).tools

    def put(self, tools: Iterable[Tool], *, removed: Sequence[str] = ()) -> int:
        """Hold these tools, each in the place of the one with its name, after `removed` went; gives how many changed.

        Tools that are there already, word for word, cost a look: every replica may put its own.
        """
        writer = PostgresWriter(self._shelf.tenant, self._embedder)
        with self._shelf.connection() as connection:
            return writer.apply(connection, removed, tools)

    def remove(self, names: Sequence[str]) -> int:
        """Let go of tools; gives how many there were."""
        return self.put((), removed=names)

    def fill(self, tools: Iterable[Tool]) -> None:
        """Hold very many tools at once. Into empty tables this is many times as fast as `put`."""
        writer = PostgresWriter(self._shelf.tenant, self._embedder)
        with self._shelf.connection() as connection:
            emptied = drop_slow_indexes(connection, self._embedder.dimensions)
            try:
                writer.apply(connection, (), tools)
            finally:
                if emptied:
                    make_slow_indexes(connection, self._embedder.dimensions)

    def search(self, query: str, *, limit: int = 5, where: Where | None = None) -> SearchResult:
        """The tools that serve a request, best first, at most `limit`; none when nothing fits.

        `where` has to be a `Filter`, or to say itself as one: tools that it hides are left out by the database.
        """
        began = perf_counter()
        limit = max(0, min(limit, MAX_LIMIT))
        if not limit or not words(query):
            reason = "The request has no words." if limit else "No tools were wanted."
            return SearchResult(hits=(), confidence=0.0, path="none", took_ms=0.0, reason=reason)
        request = Request(self._shelf.table, self._shelf.tenant, (*self._filters, *_filters(where)))
        asked = self._shelf.read(lambda connection: self._ask(connection, request, query))
        # No connection is held meanwhile: this may be a call over the network.
        vectors, warnings = (None, ()) if asked.said.enough else self._asking.embed_queries(asked.said.meant)
        found = self._shelf.read(lambda connection: self._found(connection, request, asked, vectors, limit))
        took_ms = (perf_counter() - began) * 1000
        return SearchResult(**found, took_ms=took_ms, warnings=warnings)

    async def search_async(self, query: str, *, limit: int = 5, where: Where | None = None) -> SearchResult:
        """The same from an event loop, which is not held up meanwhile."""
        return await asyncio.to_thread(self.search, query, limit=limit, where=where)

    def only(self, where: Where) -> "PostgresIndex":
        """The same index, which never finds what `where`, a `Filter`, hides. How rare a word is still counts it."""
        view = PostgresIndex.__new__(PostgresIndex)
        view.__dict__.update(self.__dict__)
        view._filters = (*self._filters, *_filters(where))
        return view

    def close(self) -> None:
        """Let go of all connections."""
        self._shelf.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, connection: "Connection[Any]", request: Request, query: str) -> "_Asked":
        size = self._shelf.size(connection)
        strategy = strategy_for(size.tools, self._strategies)
        texts = (query, *(parts(query) if self._decompose and strategy.decompose else ()))
        lexical = PostgresLexical(connection, request, self._shelf.words.read(connection, texts, size))
        arms = _Arms(lexical, WordMeanings(self._reader))
        inquiry = Inquiry(arms, self._embedder)
        said = inquiry.words(texts, None, strategy)
        return _Asked(query=query, size=size, strategy=strategy, arms=arms, inquiry=inquiry, said=said)

    def _found(
        self, connection: "Connection[Any]", request: Request, asked: "_Asked", vectors: Vectors | None, limit: int
    ) -> dict[str, Any]:
        if vectors is None:
            findings = asked.inquiry.by_words(asked.said)
        else:
            asked.arms.dense = PostgresDense(connection, request, self._shelf.sample, asked.size.tools)
            asked.arms.ranked = sorted({number for match in asked.said.matches for number in match.numbers})
            findings = asked.inquiry.by_both(asked.said, vectors, asked.strategy)
        named = named_in(connection, request, asked.query)
        ranking, path, reason = verdict(findings, asked.strategy, named, tools=asked.size.tools, abstain=self._abstain)
        hits = answer(connection, request, asked.said.matches[0].asked, ranking, limit)
        return {"hits": hits, "confidence": confidence(path, findings), "path": path, "reason": reason}


@dataclass(slots=True)
class _Arms:
    """Both arms, as one request needs them."""

    lexical: PostgresLexical
    meanings: WordMeanings
    dense: PostgresDense | None = None
    ranked: Sequence[int] = ()

    def nearness(self, vectors: Vectors, allowed: NDArray[np.bool_] | None) -> list[Nearness]:
        if self.dense is None:
            return []
        seen = self.dense.nearness(vectors, self.ranked)
        # In one go: each look into the database costs more than reading what it gives.
        self.meanings.put(self.dense.words({*self.ranked, *(number for near in seen for number in near.nearest)}))
        return seen


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request on its way: what is known of it before the arms are compared."""

    query: str
    size: Size
    strategy: Strategy
    arms: _Arms
    inquiry: Inquiry
    said: Words


def _filters(where: Where | None) -> tuple[Filter, ...]:
    if where is None:
        return ()
    if isinstance(where, Filter):
        return (where,)
    if isinstance(where, SaysAsFilter):
        return (where.as_filter(),)
    raise PolicyError(
        f"{where!r} cannot be asked inside a database.",
        hint="Give a `Filter`; `policy_filter(policy, role)` makes one of a policy.",
    )
