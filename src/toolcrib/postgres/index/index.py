"""An index in PostgreSQL, for more tools than a process should hold: over 200,000, or small replicas.

It answers as `ToolIndex` does. What both arms say is judged by the same code; only where candidates come from differs:
pgvector's graph and a full-text index of our own terms, each within one tenant and within what a `Filter` shows.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, RLock
from time import monotonic, perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from toolcrib.errors import PolicyError, StoreError, UnknownToolError
from toolcrib.postgres.database import PostgresAddress, PostgresDatabase
from toolcrib.postgres.index.arms import PostgresDense, PostgresLexical, PostgresWords, Request, Sample, Size
from toolcrib.postgres.index.explain import Outcome, ToolRow, explain_tool, removed_from_catalog, similar_tools
from toolcrib.postgres.index.filter import Filter, PolicyView, policy_filter
from toolcrib.postgres.index.rows import SHARED, component, hashes_of, spelled, table_of, term_hash
from toolcrib.postgres.index.writer import PostgresWriter, drop_slow_indexes, make_slow_indexes
from toolcrib.postgres.migrations import migrate
from toolcrib.search.corpus import Step, ToolFilter, names_in
from toolcrib.search.dense import Similarity
from toolcrib.search.embedders.builtin import BuiltinEmbedder, checked
from toolcrib.search.embedders.embedder import Embedder, FallibleEmbedder
from toolcrib.search.index import MAX_LIMIT, ToolSet
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.lexical import LexicalMatch, QueryTerm
from toolcrib.search.query import STRATEGIES, QueryRunner, Strategy, Words, confidence, parts, strategy_for, verdict
from toolcrib.search.rerank import LateInteraction
from toolcrib.search.result import Explanation, Hit, SearchResult, companion_reason, why, with_companions
from toolcrib.search.text import words
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

    def companions(name: str) -> list[str]:
        return [other for other in tools[name].related if other in there]

    return tuple(
        Hit(name=name, score=share, why=companion_reason(owner) if owner else why(_said(tools[name], asked)))
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


def _said(tool: _Found, asked: Sequence[QueryTerm]) -> list[str]:
    matched = [word for word in asked if word.known and not tool.terms.isdisjoint(map(term_hash, word.terms))]
    return [word.meant or word.word for word in matched]


# A tenant's place in an index in PostgreSQL: its connections, its tables, its number.

CONNECTIONS = 4
CATALOG_TENANT = ""  # whose shared catalog the commands follow
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

    Use it in `with`, or `close` it. With a `catalog` it follows that one, as `ToolIndex` does: each change is written
    before the next search, and only tools of the catalog are found. Several replicas may follow the same tools.
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
        catalog: ToolSet | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._embedder = checked(embedder or BuiltinEmbedder())
        self._reader = self._embedder if isinstance(self._embedder, BuiltinEmbedder) else BuiltinEmbedder()
        self._shelf = TenantIndex(url, tenant, self._embedder, connections=connections)
        self._strategies = strategies
        self._abstain = abstain
        self._decompose = decompose
        self._filters: tuple[Filter, ...] = ()
        self._asking = FallibleEmbedder(self._embedder, clock)
        self._catalog = catalog
        self._changes: deque[Step] = deque()
        self._writing = RLock()
        self._purged = [catalog is None]  # a list, because views share it
        self._unsubscribe = catalog.subscribe(self._changes.append, replay=True) if catalog is not None else None

    def __len__(self) -> int:
        """How many tools the tenant has."""
        self._catch_up()
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

    def search(self, query: str, *, limit: int = 5, where: ToolFilter | None = None) -> SearchResult:
        """The tools that serve a request, best first, at most `limit`; none when nothing fits.

        `where` has to be a `Filter`, or to say itself as one: tools that it hides are left out by the database.
        """
        began = perf_counter()
        limit = max(0, min(limit, MAX_LIMIT))
        if not limit or not words(query):
            reason = "The request has no words." if limit else "No tools were wanted."
            return SearchResult(hits=(), confidence=0.0, path="none", took_ms=0.0, reason=reason)
        late = self._catch_up()
        request = self._request(where)
        asked = self._shelf.read(lambda connection: self._ask(connection, request, query))
        # No connection is held meanwhile: this may be a call over the network.
        vectors, warnings = (None, ()) if asked.said.enough else self._asking.embed_queries(asked.said.meant)
        found = self._shelf.read(lambda connection: self._found(connection, request, asked, vectors, limit))
        if self._catalog is not None:  # another replica may know more tools, or know of a removal later
            found["hits"] = tuple(hit for hit in found["hits"] if hit.name in self._catalog)
        took_ms = (perf_counter() - began) * 1000
        return SearchResult(**found, took_ms=took_ms, warnings=late or warnings)

    async def search_async(self, query: str, *, limit: int = 5, where: ToolFilter | None = None) -> SearchResult:
        """The same from an event loop, which is not held up meanwhile."""
        return await asyncio.to_thread(self.search, query, limit=limit, where=where)

    def only(self, where: ToolFilter) -> "PostgresIndex":
        """The same index, which never finds what `where`, a `Filter`, hides. How rare a word is still counts it."""
        view = PostgresIndex.__new__(PostgresIndex)
        view.__dict__.update(self.__dict__)
        view._filters = (*self._filters, *_filters(where))
        return view

    def explain(self, query: str, name: str) -> Explanation:
        """Why a tool ranks where it does for a request. Its nearest text is known only of tools of the catalog."""
        late = self._catch_up()
        request = self._request(None)

        def ask(connection: "Connection[Any]") -> "tuple[_Asked, LexicalMatch]":
            asked = self._ask(connection, request, query)
            return asked, asked.arms.lexical.search(query, max(1, asked.size.tools))

        asked, every = self._shelf.read(ask)
        vectors, failed = self._asking.embed_queries(asked.said.meant)
        return self._shelf.read(
            lambda connection: self._explained(connection, request, asked, every, vectors, name, late or failed)
        )

    def similar(self, name: str, *, limit: int = 5) -> tuple[Hit, ...]:
        """The tools nearest in meaning to one tool."""
        self._catch_up()
        request = self._request(None)

        def look(connection: "Connection[Any]") -> tuple[Hit, ...]:
            dense = PostgresDense(connection, request, self._shelf.sample, self._shelf.size(connection).tools)
            return similar_tools(connection, request, self._row(connection, request, name), dense, max(0, limit))

        return self._shelf.read(look)

    def learn(self, query: str, name: str) -> None:
        """Nothing is learned from use here: what one replica saw would move the answers of all."""

    def close(self) -> None:
        """Let go of all connections, and follow the catalog no more."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._shelf.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _request(self, where: ToolFilter | None) -> Request:
        return Request(self._shelf.table, self._shelf.tenant, (*self._filters, *_filters(where)))

    def _catch_up(self) -> tuple[str, ...]:
        """Write what the catalog announced; gives warnings when the embedder failed: the next search tries again."""
        with self._writing:
            if not self._changes and self._purged[0]:
                return ()
            return self._asking.tried(self._write_changes)[1]

    def _write_changes(self) -> None:
        if not self._purged[0]:
            # What was removed while no replica was there to follow it.
            request = self._request(None)
            gone = self._shelf.read(lambda connection: removed_from_catalog(connection, request, CATALOG_TENANT))
            if gone:
                self.remove(gone)
            self._purged[0] = True
        while self._changes:
            step = self._changes[0]
            self.put(step.added, removed=step.removed)
            self._changes.popleft()  # only now: what could not be written is tried again

    def _row(self, connection: "Connection[Any]", request: Request, name: str) -> ToolRow:
        row = ToolRow.fetch(connection, request, name)
        if row is None:
            raise UnknownToolError(name, [tool.name for tool in self._catalog] if self._catalog is not None else ())
        return row

    def _explained(
        self,
        connection: "Connection[Any]",
        request: Request,
        asked: "_Asked",
        every: LexicalMatch,
        vectors: Vectors | None,
        name: str,
        warnings: tuple[str, ...],
    ) -> Explanation:
        row = self._row(connection, request, name)
        findings = asked.inquiry.lexical_only(asked.said)
        if vectors is not None:
            asked.arms.dense = PostgresDense(connection, request, self._shelf.sample, asked.size.tools)
            asked.arms.ranked = sorted({row.number, *(n for match in asked.said.matches for n in match.numbers)})
            fused = asked.inquiry.fused(asked.said, vectors, asked.strategy)
            # Where words are enough, the meaning is only shown.
            shown = findings._replace(nearness=fused.nearness, vector=fused.vector)
            findings = shown if asked.said.enough else fused
        named = ids_named_in(connection, request, asked.query)
        ranking, path, reason = verdict(findings, asked.strategy, named, tools=asked.size.tools, abstain=self._abstain)
        return explain_tool(
            name,
            row,
            self._catalog.get(name) if self._catalog is not None and name in self._catalog else None,
            Outcome(findings=findings, every=every, ranking=ranking, path=path, reason=reason, warnings=warnings),
            query=asked.query,
            strategy=asked.strategy,
            tools=asked.size.tools,
            meanings=asked.arms.meanings,
            dense=asked.arms.dense,
        )

    def _ask(self, connection: "Connection[Any]", request: Request, query: str) -> "_Asked":
        size = self._shelf.size(connection)
        strategy = strategy_for(size.tools, self._strategies)
        texts = (query, *(parts(query) if self._decompose and strategy.decompose else ()))
        lexical = PostgresLexical(connection, request, self._shelf.words.read(connection, texts, size))
        arms = _Arms(lexical, LateInteraction(self._reader))
        inquiry = QueryRunner(arms, self._embedder)
        said = inquiry.words(texts, None, strategy)
        return _Asked(query=query, size=size, strategy=strategy, arms=arms, inquiry=inquiry, said=said)

    def _found(
        self, connection: "Connection[Any]", request: Request, asked: "_Asked", vectors: Vectors | None, limit: int
    ) -> dict[str, Any]:
        if vectors is None:
            findings = asked.inquiry.lexical_only(asked.said)
        else:
            asked.arms.dense = PostgresDense(connection, request, self._shelf.sample, asked.size.tools)
            asked.arms.ranked = sorted({number for match in asked.said.matches for number in match.numbers})
            findings = asked.inquiry.fused(asked.said, vectors, asked.strategy)
        named = ids_named_in(connection, request, asked.query)
        ranking, path, reason = verdict(findings, asked.strategy, named, tools=asked.size.tools, abstain=self._abstain)
        hits = answer(connection, request, asked.said.matches[0].asked, ranking, limit)
        return {"hits": hits, "confidence": confidence(path, findings), "path": path, "reason": reason}


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
class _Asked:
    """A request on its way: what is known of it before the arms are compared."""

    query: str
    size: Size
    strategy: Strategy
    arms: _Arms
    inquiry: QueryRunner
    said: Words


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
