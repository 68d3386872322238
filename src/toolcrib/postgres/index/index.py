"""An index in PostgreSQL, for more tools than a process should hold: over 200,000, or small replicas.

It answers as `ToolIndex` does. What both arms say is judged by the same code; only where candidates come from differs:
pgvector's graph and a full-text index of our own terms, each within one tenant and within what a `Filter` shows.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from time import monotonic, perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from toolcrib.errors import PolicyError, StoreError
from toolcrib.postgres.database import PostgresAddress, PostgresDatabase
from toolcrib.postgres.index.arms import PostgresDense, PostgresLexical, PostgresWords, Request, Sample, Size
from toolcrib.postgres.index.filter import Filter, PolicyView, policy_filter
from toolcrib.postgres.index.rows import SHARED, component, hashes_of, spelled, table_of, term_hash
from toolcrib.postgres.index.writer import PostgresWriter, drop_slow_indexes, make_slow_indexes
from toolcrib.postgres.migrations import migrate
from toolcrib.search.corpus import ToolFilter, names_in
from toolcrib.search.dense import Similarity
from toolcrib.search.embedders.builtin import BuiltinEmbedder, checked
from toolcrib.search.embedders.embedder import Embedder, FallibleEmbedder
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.lexical import QueryTerm
from toolcrib.search.query import (
    DEFAULT_OPTIONS,
    STRATEGIES,
    PendingQuery,
    QueryRunner,
    SearchOptions,
    Strategy,
    clamp_limit,
    decide,
    strategy_for,
    texts_of,
    without_search,
)
from toolcrib.search.rerank import LateInteraction
from toolcrib.search.result import Hit, SearchResult, companion_reason, why, with_companions
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool


# From a ranking to the answer, out of a database: names, reasons, and the companions of the best tools.

MAX_SPELLED = 200  # no name has more letters


@dataclass(frozen=True, slots=True)
class _Found:
    """What an answer says of a tool."""

    name: str
    related: Sequence[str]
    terms: frozenset[int]


def ids_named_in(connection: "Connection[Any]", request: Request, query: str) -> list[int]:
    """The tools that a request calls by name: `cms_getPage`, `cms get page`, or names within a sentence."""
    whole = spelled(query)
    tokens = names_in(query)
    one = f"SELECT id, name, spelled FROM {request.table} WHERE tenant = %s AND "
    statement = f"{one} spelled = %s{request.condition} UNION {one} name = ANY(%s){request.condition}"
    own = request.parameters
    sent = (request.tenant, whole[:MAX_SPELLED], *own, request.tenant, tokens, *own)
    rows = connection.execute(statement.encode(), sent).fetchall()
    alike = sorted((name != query.strip(), identity) for identity, name, said in rows if said == whole)
    if alike:
        return [request.number(identity) for _, identity in alike]
    places = {name: place for place, name in enumerate(tokens)}
    named = sorted((places[name], identity) for identity, name, said in rows if " " in said)
    return [request.number(identity) for _, identity in named]


def answer(
    connection: "Connection[Any]",
    request: Request,
    asked: Sequence[QueryTerm],
    ranking: Sequence[tuple[int, float]],
    limit: int,
) -> tuple[Hit, ...]:
    """The hits, with the companions of the best of them."""
    best = [(request.identities[number], share) for number, share in ranking[: limit * 2]]
    found = _found(connection, request, [identity for identity, _ in best])
    tools = {found[identity].name: found[identity] for identity, _ in best if identity in found}
    there = _visible(connection, request, {other for tool in tools.values() for other in tool.related})
    ranked = [(found[identity].name, share) for identity, share in best if identity in found]
    companions = {name: [other for other in tool.related if other in there] for name, tool in tools.items()}
    return tuple(
        Hit(name=name, score=share, why=companion_reason(owner) if owner else why(_matched_words(tools[name], asked)))
        for name, share, owner in with_companions(ranked, companions, limit)
    )


def _found(connection: "Connection[Any]", request: Request, identities: Sequence[int]) -> dict[int, _Found]:
    if not identities:
        return {}
    query = f"SELECT id, name, related, terms FROM {request.table} WHERE id = ANY(%s) AND tenant = %s"
    rows = connection.execute(query.encode(), (list(identities), request.tenant))
    return {identity: _Found(name, related, hashes_of(terms)) for identity, name, related, terms in rows}


def _visible(connection: "Connection[Any]", request: Request, names: Collection[str]) -> set[str]:
    """Those of the names that are tools which may be found."""
    if not names:
        return set()
    query = f"SELECT name FROM {request.table} WHERE tenant = %s AND name = ANY(%s){request.condition}"
    rows = connection.execute(query.encode(), (request.tenant, list(names), *request.parameters))
    return {name for (name,) in rows}


def _matched_words(tool: _Found, asked: Sequence[QueryTerm]) -> list[str]:
    matched = [word for word in asked if word.known and not tool.terms.isdisjoint(map(term_hash, word.terms))]
    return [word.meant or word.word for word in matched]


# A tenant's place in an index in PostgreSQL: its connections, its tables, its number.

CONNECTIONS = 4
WAIT_SECONDS = 30.0
# For every connection of ours. Walking the graph goes on until enough tools of the tenant are found. All that we ask
# has an index; a planner that reads or sorts whole tables instead is mistaken, as one without statistics is.
SETTINGS = (
    "SET hnsw.ef_search = 200",
    "SET hnsw.iterative_scan = relaxed_order",
    "SET enable_sort = off",
    "SET enable_seqscan = off",
    "SET jit = off",
    "SET work_mem = '32MB'",  # so that the tools with a frequent word are remembered one by one, not by page
)
Result = TypeVar("Result")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Opened:
    """What there is once the database was reached."""

    pool: "ConnectionPool[Any]"
    tenant: int
    words: PostgresWords
    sample: Sample


class TenantIndex:
    """Opened when it is first used; safe under threads."""

    def __init__(self, url: str, tenant: str, embedder: Embedder, *, connections: int = CONNECTIONS) -> None:
        self._url = url
        self._address = PostgresAddress.read(url)
        self._tenant_name = tenant
        self._embedder = embedder
        self._connections = connections
        self._lock = Lock()
        self._opened: _Opened | None = None

    @property
    def table(self) -> str:
        """Where its tools are."""
        return table_of(self._embedder.dimensions)

    @property
    def tenant(self) -> int:
        """The number that every one of its rows has."""
        return self._open().tenant

    @property
    def words(self) -> PostgresWords:
        """The words of its tools."""
        return self._open().words

    @property
    def sample(self) -> Sample:
        """Some of its vectors."""
        return self._open().sample

    def size(self, connection: "Connection[Any]") -> Size:
        """How much there is now."""
        query = "SELECT tools, tokens, revision FROM toolcrib_index WHERE id = %s"
        tools, tokens, revision = connection.execute(query, (self.tenant,)).fetchone() or (0, 0, 0)
        return Size(tools=tools, tokens=tokens, revision=revision)

    @contextmanager
    def connection(self) -> "Generator[Connection[Any]]":
        """A connection on which each statement is kept at once."""
        from toolcrib.postgres.errors import translated_errors

        pool = self._open().pool
        with translated_errors(self._address.place), pool.connection() as connection:
            yield connection

    def read(self, work: "Callable[[Connection[Any]], Result]") -> Result:
        """What `work` reads; asked once more, on another connection, when the first one broke."""
        from toolcrib.postgres.errors import is_connection_lost, translated_errors

        pool = self._open().pool
        with translated_errors(self._address.place):
            try:
                with pool.connection() as connection:
                    return work(connection)
            except Exception as error:
                if isinstance(error, StoreError) or not is_connection_lost(error):
                    raise
                logger.info("The connection to %s broke; it is asked again.", self._address.place)
            pool.check()
            with pool.connection() as connection:
                return work(connection)

    def close(self) -> None:
        """Let go of all connections; a later use opens them again."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.pool.close()

    def _open(self) -> "_Opened":
        with self._lock:
            if self._opened is None:
                # The tables are brought up by code for event loops, and we may stand in one.
                with ThreadPoolExecutor(1) as aside:
                    number = aside.submit(asyncio.run, self._prepare()).result()
                self._opened = _Opened(self._pool(), number, PostgresWords(number), Sample(number, self.table))
            return self._opened

    def _pool(self) -> "ConnectionPool[Any]":
        from psycopg_pool import ConnectionPool

        return ConnectionPool(
            kwargs={**self._address.parameters, "autocommit": True},
            min_size=1,
            max_size=self._connections,
            timeout=WAIT_SECONDS,
            configure=_configure,
            open=True,
        )

    async def _prepare(self) -> int:
        embedder = self._embedder
        async with PostgresDatabase(self._url) as database, database.own_connection() as connection:
            await migrate(connection, SHARED)
            await migrate(connection, component(embedder.dimensions))
            query = "SELECT id, embedder FROM toolcrib_index WHERE tenant = %s"
            found = await (await connection.execute(query, (self._tenant_name,))).fetchone()
            if found is None:  # only then: a standby that is only read has to be of use, too
                await connection.execute(
                    "INSERT INTO toolcrib_index (tenant, embedder, dimensions) VALUES (%s, %s, %s)"
                    " ON CONFLICT DO NOTHING",
                    (self._tenant_name, embedder.id, embedder.dimensions),
                )
                found = await (await connection.execute(query, (self._tenant_name,))).fetchone()
            number, made_by = found or (0, "")
        if made_by != embedder.id:
            raise StoreError(
                f"The index of {self._tenant_name!r} was made with {made_by}, not with {embedder.id}.",
                hint=f"Open it with {made_by}, or make an index under another tenant.",
            )
        return number


def _configure(connection: "Connection[Any]") -> None:
    for setting in SETTINGS:
        connection.execute(setting.encode())


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
        options: SearchOptions = DEFAULT_OPTIONS,
        connections: int = CONNECTIONS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._embedder = checked(embedder or BuiltinEmbedder())
        self._reader = self._embedder if isinstance(self._embedder, BuiltinEmbedder) else BuiltinEmbedder()
        self._shelf = TenantIndex(url, tenant, self._embedder, connections=connections)
        self._strategies = strategies
        self._options = options
        self._filters: tuple[Filter, ...] = ()
        self._fallible = FallibleEmbedder(self._embedder, clock)

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

    def search(
        self, query: str, *, limit: int = 5, where: ToolFilter | None = None, options: SearchOptions | None = None
    ) -> SearchResult:
        """The tools that serve a request, best first, at most `limit`; none when nothing fits.

        `where` has to be a `Filter`, or to say itself as one: tools that it hides are left out by the database.
        """
        began = perf_counter()
        limit = clamp_limit(limit)
        if (empty := without_search(query, limit)) is not None:
            return empty
        request = Request(self._shelf.table, self._shelf.tenant, (*self._filters, *_filters(where)))
        chosen = options or self._options
        pending = self._shelf.read(lambda connection: self._start(connection, request, query, chosen))
        vectors, warnings = None, ()
        if pending.query.needs_vectors:
            # No connection is held meanwhile: this may be a call over the network.
            vectors, warnings = self._fallible.embed_queries(pending.query.words.corrected)
        found = self._shelf.read(lambda connection: self._finish(connection, request, pending, vectors, limit))
        took_ms = (perf_counter() - began) * 1000
        return SearchResult(**found, took_ms=took_ms, warnings=warnings)

    async def search_async(
        self, query: str, *, limit: int = 5, where: ToolFilter | None = None, options: SearchOptions | None = None
    ) -> SearchResult:
        """The same from an event loop, which is not held up meanwhile."""
        return await asyncio.to_thread(self.search, query, limit=limit, where=where, options=options)

    def only(self, where: ToolFilter) -> "PostgresIndex":
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

    def _start(self, connection: "Connection[Any]", request: Request, query: str, options: SearchOptions) -> "_Pending":
        size = self._shelf.size(connection)
        strategy = strategy_for(size.tools, self._strategies)
        terms = self._shelf.words.read(connection, texts_of(query, options, strategy), size)
        arms = _Arms(PostgresLexical(connection, request, terms), LateInteraction(self._reader))
        runner = QueryRunner(arms, self._embedder)
        return _Pending(query=runner.start(query, options, strategy), size=size, arms=arms, runner=runner)

    def _finish(
        self, connection: "Connection[Any]", request: Request, pending: "_Pending", vectors: Vectors | None, limit: int
    ) -> dict[str, Any]:
        query, tools = pending.query, pending.size.tools
        if vectors is not None:
            pending.arms.dense = PostgresDense(connection, request, self._shelf.sample, tools)
            pending.arms.ranked = sorted({tool_id for match in query.words.matches for tool_id in match.numbers})
        result = pending.runner.finish(query, vectors)
        decided = decide(query, result, ids_named_in(connection, request, query.text), tools=tools)
        hits = answer(connection, request, query.words.matches[0].asked, decided.ranking, limit)
        return {"hits": hits, "confidence": decided.confidence, "path": decided.path, "reason": decided.reason}


@dataclass(slots=True)
class _Arms:
    """Both arms, as one request needs them."""

    lexical: PostgresLexical
    meanings: LateInteraction
    dense: PostgresDense | None = None
    ranked: Sequence[int] = ()

    def nearness(self, vectors: Vectors, allowed: NDArray[np.bool_] | None) -> list[Similarity]:
        if self.dense is None:
            return []
        seen = self.dense.nearness(vectors, self.ranked)
        # In one go: each look into the database costs more than reading what it gives.
        self.meanings.put(self.dense.words({*self.ranked, *(number for near in seen for number in near.nearest)}))
        return seen


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pending:
    """A query between its two halves."""

    query: PendingQuery
    size: Size
    arms: _Arms
    runner: QueryRunner


def _filters(where: ToolFilter | None) -> tuple[Filter, ...]:
    if where is None:
        return ()
    if isinstance(where, Filter):
        return (where,)
    if isinstance(where, PolicyView):
        return (policy_filter(where.policy, where.role),)
    raise PolicyError(
        f"{where!r} cannot be asked inside a database.",
        hint="Give a `Filter`; `policy_filter(policy, role)` makes one of a policy.",
    )
