"""An index in PostgreSQL, for more tools than a process should hold: over 200,000, or small replicas.

It answers as `ToolIndex` does. What both arms say is judged by the same code; only where candidates come from differs:
pgvector's graph and a full-text index of our own terms, each within one tenant and within what a `Filter` shows.
"""

import asyncio
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic, perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from toolcrib.errors import PolicyError, UnknownToolError
from toolcrib.postgres.index.arms import PostgresDense, PostgresLexical, Request, Size
from toolcrib.postgres.index.filter import Filter, PolicyView, policy_filter
from toolcrib.postgres.index.rows import hashes_of, read_half_vectors, spelled, term_hash
from toolcrib.postgres.index.tenant import CONNECTIONS, CatalogFollower, TenantIndex
from toolcrib.postgres.index.writer import PostgresWriter, drop_slow_indexes, make_slow_indexes
from toolcrib.search.corpus import ToolFilter, names_in
from toolcrib.search.dense import ABSENT, Similarity, passages
from toolcrib.search.embedders.builtin import BuiltinEmbedder, checked
from toolcrib.search.embedders.embedder import Embedder, FallibleEmbedder
from toolcrib.search.index import ToolSet
from toolcrib.search.kernels.rows import Places, Vectors
from toolcrib.search.lexical import QueryTerm
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
    texts_of,
    without_search,
)
from toolcrib.search.rerank import LateInteraction
from toolcrib.search.result import (
    Explanation,
    Hit,
    SearchResult,
    companion_reason,
    match_reason,
    safe_first,
    with_companions,
)
from toolcrib.search.text import is_identifier
from toolcrib.tools.tool import Risk, Tool

if TYPE_CHECKING:
    from psycopg import Connection


# From a ranking to the answer, out of a database: names, reasons, and the companions of the best tools.

MAX_SPELLED = 200  # no name has more letters


@dataclass(frozen=True, slots=True)
class _Found:
    """The fields of a tool that a result shows."""

    name: str
    related: Sequence[str]
    terms: frozenset[int]
    is_risky: bool


def ids_named_in(connection: "Connection[Any]", request: Request, query: str) -> list[int]:
    """The tools that a request names: `cms_getPage`, `cms get page`, or names within a sentence."""
    whole = spelled(query)
    tokens = names_in(query)
    as_words = {spelled(token)[:MAX_SPELLED]: token for token in tokens if is_identifier(token)}
    one = f"SELECT id, name, spelled FROM {request.table} WHERE tenant = %s AND "
    called = "(name = ANY(%s) OR spelled = ANY(%s))"
    statement = f"{one} spelled = %s{request.condition} UNION {one} {called}{request.condition}"
    own = request.parameters
    sent = (request.tenant, whole[:MAX_SPELLED], *own, request.tenant, tokens, list(as_words), *own)
    rows = connection.execute(statement.encode(), sent).fetchall()
    alike = sorted((name != query.strip(), identity) for identity, name, spelled_name in rows if spelled_name == whole)
    if alike:
        return [request.number(identity) for _, identity in alike]
    places = {name: place for place, name in enumerate(tokens)}
    exact = {name for _, name, _ in rows}
    named = sorted(
        (places[name if name in places else as_words[spelled_name]], identity)
        for identity, name, spelled_name in rows
        if " " in spelled_name and (name in places or as_words[spelled_name] not in exact)
    )
    return [request.number(identity) for _, identity in named]


def answer(
    connection: "Connection[Any]",
    request: Request,
    asked: Sequence[QueryTerm],
    ranking: Sequence[tuple[int, float]],
    limit: int,
    known: Container[str] | None = None,
) -> tuple[Hit, ...]:
    """The hits, with the companions of the best of them; only those that are `known`, if that is given."""
    best = [(request.identities[number], share) for number, share in ranking[: limit * 2]]
    found = _found(connection, request, [identity for identity, _ in best])
    if known is not None:
        found = {identity: tool for identity, tool in found.items() if tool.name in known}
    tools = {found[identity].name: found[identity] for identity, _ in best if identity in found}
    there = _visible(connection, request, {other for tool in tools.values() for other in tool.related})
    ranked = [(found[identity].name, share) for identity, share in best if identity in found]
    ranked = safe_first(ranked, {tool.name for tool in tools.values() if tool.is_risky}, limit)
    companions = {
        name: [other for other in tool.related if other in there and (known is None or other in known)]
        for name, tool in tools.items()
    }
    return tuple(
        Hit(
            name=name,
            score=share,
            why=companion_reason(owner) if owner else match_reason(_matched_words(tools[name], asked)),
        )
        for name, share, owner in with_companions(ranked, companions, limit)
    )


def _found(connection: "Connection[Any]", request: Request, identities: Sequence[int]) -> dict[int, _Found]:
    if not identities:
        return {}
    query = f"SELECT id, name, related, terms, risk FROM {request.table} WHERE id = ANY(%s) AND tenant = %s"
    rows = connection.execute(query.encode(), (list(identities), request.tenant))
    return {
        identity: _Found(name, related, hashes_of(terms), risk == Risk.DESTRUCTIVE)
        for identity, name, related, terms, risk in rows
    }


def _visible(connection: "Connection[Any]", request: Request, names: Collection[str]) -> set[str]:
    """Those of the names that are tools and not hidden."""
    if not names:
        return set()
    query = f"SELECT name FROM {request.table} WHERE tenant = %s AND name = ANY(%s){request.condition}"
    rows = connection.execute(query.encode(), (request.tenant, list(names), *request.parameters))
    return {name for (name,) in rows}


def _matched_words(tool: _Found, asked: Sequence[QueryTerm]) -> list[str]:
    matched = [word for word in asked if word.known and not tool.terms.isdisjoint(map(term_hash, word.terms))]
    return [word.meant or word.word for word in matched]


# One tool: what an explanation needs of it, and which tools are like it.


@dataclass(frozen=True, slots=True)
class ToolRow:
    """The row of one tool."""

    tool_id: int  # in the request
    vectors: Vectors  # of the whole text, then of each passage
    terms: frozenset[int]

    @classmethod
    def fetch(cls, connection: "Connection[Any]", request: Request, name: str) -> "ToolRow | None":
        """The row of a tool; None if there is none, or if the filters of the request hide it."""
        query = (
            f"SELECT id, whole, passages, terms FROM {request.table} WHERE tenant = %s AND name = %s{request.condition}"
        )
        with connection.cursor(binary=True) as cursor:
            row = cursor.execute(query.encode(), (request.tenant, name, *request.parameters)).fetchone()
        if row is None:
            return None
        whole = read_half_vectors([row[1]])
        passages = np.frombuffer(row[2], dtype="<f2").reshape(-1, whole.shape[1]).astype(np.float32)
        return cls(request.number(row[0]), np.concatenate([whole, passages]), hashes_of(row[3]))

    def matched(self, terms: Sequence[QueryTerm]) -> list[QueryTerm]:
        """The terms of a query that the texts of the tool contain."""
        return [term for term in terms if term.known and not self.terms.isdisjoint(map(term_hash, term.terms))]

    def nearest_passage(self, vector: Vectors) -> int:
        """Which of its texts is nearest to a query: 0 for the whole, else the number of the passage."""
        return int((self.vectors @ vector).argmax())


def similar_tools(
    connection: "Connection[Any]", request: Request, row: ToolRow, dense: PostgresDense
) -> list[tuple[str, float]]:
    """The names and scores of the tools nearest in meaning to one tool, the nearest first."""
    scores = dense.similarities(row.vectors[:1], [row.tool_id])[0].scores
    others = [tool_id for tool_id in np.flatnonzero(scores > ABSENT).tolist() if tool_id != row.tool_id]
    query = f"SELECT id, name FROM {request.table} WHERE tenant = %s AND id = ANY(%s)"
    identities = [request.identities[tool_id] for tool_id in others]
    names = dict(connection.execute(query.encode(), (request.tenant, identities)).fetchall())
    found = [
        (request.identities[tool_id], float(scores[tool_id]))
        for tool_id in sorted(others, key=lambda tool_id: (-float(scores[tool_id]), request.identities[tool_id]))
    ]
    return [(names[identity], score) for identity, score in found if identity in names]  # some may be gone meanwhile


def similar_hits(found: Sequence[tuple[str, float]]) -> tuple[Hit, ...]:
    """The same as hits."""
    return tuple(Hit(name=name, score=score, why=match_reason(())) for name, score in found)


class PostgresIndex:
    """The tools of one tenant. It holds none of them itself: replicas may share it, and start at once.

    Use it in `with`, or `close` it. With a `catalog` it follows that one, as `ToolIndex` does: changes are written
    before the next search, and only tools of the catalog are found. Several replicas may follow the same tools.
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
        catalog: ToolSet | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._embedder = checked(embedder or BuiltinEmbedder())
        self._reader = self._embedder if isinstance(self._embedder, BuiltinEmbedder) else BuiltinEmbedder()
        self._tenant = TenantIndex(url, tenant, self._embedder, connections=connections)
        self._strategies = strategies
        self._options = options
        self._filters: tuple[Filter, ...] = ()
        self._fallible = FallibleEmbedder(self._embedder, clock)
        self._follower = (
            None if catalog is None else CatalogFollower(self._tenant, self._embedder, catalog, self._fallible)
        )

    def __len__(self) -> int:
        """The number of the tenant's tools."""
        self._catch_up()
        return self._tenant.read(self._tenant.size).tools

    def put(self, tools: Iterable[Tool], *, removed: Sequence[str] = ()) -> int:
        """Remove some tools, then add or replace these; returns how many changed.

        Tools that are there already, word for word, cost a look: every replica may put its own.
        """
        writer = PostgresWriter(self._tenant.tenant, self._embedder)
        with self._tenant.connection() as connection:
            return writer.apply(connection, removed, tools)

    def remove(self, names: Sequence[str]) -> int:
        """Remove tools; returns how many there were."""
        return self.put((), removed=names)

    def fill(self, tools: Iterable[Tool]) -> None:
        """Add very many tools at once; into empty tables many times as fast as `put`."""
        writer = PostgresWriter(self._tenant.tenant, self._embedder)
        with self._tenant.connection() as connection:
            emptied = drop_slow_indexes(connection, self._embedder.dimensions)
            try:
                writer.apply(connection, (), tools)
            finally:
                if emptied:
                    make_slow_indexes(connection, self._embedder.dimensions)

    def search(
        self, query: str, *, limit: int = 5, where: ToolFilter | None = None, options: SearchOptions | None = None
    ) -> SearchResult:
        """The tools for a request, best first, at most `limit`; none if nothing fits.

        `where` has to be a `Filter`, or to say itself as one: tools that it hides are left out by the database.
        """
        began = perf_counter()
        limit = clamp_limit(limit)
        options = options or self._options
        if (empty := without_search(query, limit, options)) is not None:
            return empty
        pending = self._start(query, options, where)
        found = self._tenant.read(lambda connection: self._hits(connection, pending, limit))
        took_ms = (perf_counter() - began) * 1000
        return SearchResult(**found, took_ms=took_ms, warnings=pending.warnings)

    async def search_async(
        self, query: str, *, limit: int = 5, where: ToolFilter | None = None, options: SearchOptions | None = None
    ) -> SearchResult:
        """The same without blocking the event loop."""
        return await asyncio.to_thread(self.search, query, limit=limit, where=where, options=options)

    def only(self, where: ToolFilter) -> "PostgresIndex":
        """The same index, which never finds what `where`, a `Filter`, hides. How rare a word is still counts it."""
        view = PostgresIndex.__new__(PostgresIndex)
        view.__dict__.update(self.__dict__)
        view._filters = (*self._filters, *_filters(where))
        return view

    def explain(self, query: str, name: str, *, options: SearchOptions | None = None) -> Explanation:
        """Why a tool has its rank for a request. Its nearest text is given only for tools of the catalog it follows."""
        pending = self._start(query, options or self._options, None, complete=True)
        return self._tenant.read(lambda connection: self._explain(connection, pending, name))

    def similar(self, name: str, *, limit: int = 5) -> tuple[Hit, ...]:
        """The tools nearest in meaning to one tool."""
        self._catch_up()
        request = self._request(None)

        def compare(connection: "Connection[Any]") -> tuple[Hit, ...]:
            row = self._row(connection, request, name)
            dense = PostgresDense(connection, request, self._tenant.sample, self._tenant.size(connection).tools)
            found = similar_tools(connection, request, row, dense)
            known = self._known
            return similar_hits([one for one in found if known is None or one[0] in known][: max(0, limit)])

        return self._tenant.read(compare)

    def learn(self, query: str, name: str) -> None:
        """Does nothing: what one replica learned would change the answers of all."""

    def close(self) -> None:
        """Stop following the catalog, and close all connections."""
        if self._follower is not None:
            self._follower.close()
        self._tenant.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _known(self) -> ToolSet | None:
        """The tools that may be found: another replica may have more, or remove one later."""
        return None if self._follower is None else self._follower.catalog

    def _request(self, where: ToolFilter | None) -> Request:
        return Request(self._tenant.table, self._tenant.tenant, (*self._filters, *_filters(where)))

    def _catch_up(self) -> tuple[str, ...]:
        return () if self._follower is None else self._follower.catch_up()

    def _start(
        self, text: str, options: SearchOptions, where: ToolFilter | None, *, complete: bool = False
    ) -> "_Pending":
        """Run the lexical pass, and embed the query if its vectors are needed; with `complete` also if they are not."""
        warnings = self._catch_up()
        pending = self._tenant.read(lambda connection: self._lexical_pass(connection, text, options, where))
        if self._follower is not None:
            was_written, failed = self._follower.restore_missing(pending.size.revision)
            warnings = warnings or failed
            if was_written:
                pending = self._tenant.read(lambda connection: self._lexical_pass(connection, text, options, where))
        query = pending.query
        if not query.needs_vectors and not (complete and options.arms == "both"):
            return replace(pending, warnings=warnings)
        # No connection is held meanwhile: this may be a call over the network.
        vectors, failed = self._fallible.embed_queries(query.words.corrected)
        return replace(pending, vectors=vectors, warnings=warnings or failed)

    def _lexical_pass(
        self, connection: "Connection[Any]", text: str, options: SearchOptions, where: ToolFilter | None
    ) -> "_Pending":
        request, size = self._request(where), self._tenant.size(connection)
        strategy = strategy_for(size.tools, self._strategies)
        terms = self._tenant.words.read(connection, texts_of(text, options, strategy), size)
        arms = _Arms(PostgresLexical(connection, request, terms), LateInteraction(self._reader))
        runner = QueryRunner(arms, self._embedder)
        return _Pending(request, runner.start(text, options, strategy), size, arms, runner)

    def _finish(
        self, connection: "Connection[Any]", pending: "_Pending", *, explained: Sequence[int] = ()
    ) -> tuple[FusedResult, Answer]:
        """Rank the tools and decide. The dense arm also compares the tools that are `explained`."""
        query, request, tools = pending.query, pending.request, pending.size.tools
        if pending.vectors is not None:
            ranked = {*explained, *(tool_id for match in query.words.matches for tool_id in match.tool_ids)}
            pending.arms.dense = PostgresDense(connection, request, self._tenant.sample, tools)
            pending.arms.ranked = sorted(ranked)
        result = pending.runner.finish(query, pending.vectors)
        return result, decide(query, result, ids_named_in(connection, request, query.text), tools=tools)

    def _hits(self, connection: "Connection[Any]", pending: "_Pending", limit: int) -> dict[str, Any]:
        _, decided = self._finish(connection, pending)
        terms = pending.query.words.matches[0].terms
        hits = answer(connection, pending.request, terms, decided.ranking, limit, self._known)
        return {"hits": hits, "confidence": decided.confidence, "path": decided.path, "reason": decided.reason}

    def _explain(self, connection: "Connection[Any]", pending: "_Pending", name: str) -> Explanation:
        query, size = pending.query, pending.size
        row = self._row(connection, pending.request, name)
        result, decided = self._finish(connection, pending, explained=[row.tool_id])
        known, nearest = self._known, ""
        if known is not None and name in known and result.vector is not None and has_score(result, row.tool_id):
            nearest = passages(known.get(name))[row.nearest_passage(result.vector)]
        lexical = PostgresLexical(connection, pending.request, pending.arms.lexical.reading)
        tool = ExplainedTool(
            name=name,
            tool_id=row.tool_id,
            every=lexical.search(query.text, max(1, size.tools)),
            matched=row.matched(query.words.matches[0].terms),
            nearest=nearest,
            tools=size.tools,
        )
        return explanation(query, result, decided, tool, pending.arms.meanings, pending.warnings)

    def _row(self, connection: "Connection[Any]", request: Request, name: str) -> ToolRow:
        known = self._known
        row = ToolRow.fetch(connection, request, name) if known is None or name in known else None
        if row is None:
            names = () if known is None else _visible(connection, request, [tool.name for tool in known])
            raise UnknownToolError(name, sorted(names))
        return row


@dataclass(slots=True)
class _Arms:
    """Both arms, set up for one request."""

    lexical: PostgresLexical
    meanings: LateInteraction
    dense: PostgresDense | None = None
    ranked: Sequence[int] = ()
    names: dict[int, str] = field(default_factory=dict[int, str])  # of the tools whose words were read

    @property
    def order(self) -> Places:
        return self.lexical.request.order

    def similarities(self, vectors: Vectors, allowed: NDArray[np.bool_] | None) -> list[Similarity]:
        if self.dense is None:
            return []
        seen = self.dense.similarities(vectors, self.ranked)
        # In one go: each look into the database costs more than reading what it gives.
        self._read({*self.ranked, *(number for near in seen for number in near.nearest)})
        return seen

    def read(self, tool_ids: Sequence[int]) -> str:
        self._read(tool_ids)
        return self.names.get(tool_ids[0], "")  # none where the tool left meanwhile

    def _read(self, tool_ids: Collection[int]) -> None:
        if missing := [tool_id for tool_id in tool_ids if tool_id not in self.names]:
            found = self.lexical.texts(missing)
            self.names.update((tool_id, name) for tool_id, name, _ in found)
            self.meanings.put((tool_id, own) for tool_id, _, own in found)


@dataclass(frozen=True, slots=True)
class _Pending:
    """A query after the lexical pass."""

    request: Request
    query: PendingQuery
    size: Size
    arms: _Arms
    runner: QueryRunner
    vectors: Vectors | None = None
    warnings: tuple[str, ...] = ()


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
