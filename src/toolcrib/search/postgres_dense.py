"""The dense arm in PostgreSQL: pgvector names the tools whose whole text is near, their passages are read here.

How near tools are in general, which the judges need to know, is told by a sample of them that a replica holds.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.dense import EXACT_UP_TO, GONE, shortlisted
from toolcrib.search.embedder import Vectors
from toolcrib.search.nearness import DEPTH, Nearness, mean_and_spread
from toolcrib.search.passages import WHOLE
from toolcrib.search.postgres_request import Request
from toolcrib.search.postgres_rows import read_half_vectors

if TYPE_CHECKING:
    from psycopg import Connection

# Up to so many tools all of them are compared: milliseconds, and no graph to miss one in.
COMPARE_ALL_UP_TO = 2_000
SAMPLE = 1_024
GREW = 1.25  # times the tools it was taken from: then a sample is taken anew


@dataclass(slots=True)
class Sample:
    """Some tools of a tenant, chosen by the hash of their names."""

    tenant: int
    table: str
    _vectors: Vectors | None = None
    _taken_from: int = 0
    _lock: Lock = field(default_factory=Lock)

    def moments(self, connection: "Connection[Any]", query: Vectors, tools: int) -> tuple[float, float]:
        """The sum of the scores of all tools and of their squares, as far as the sample tells."""
        with self._lock:
            if self._vectors is None or not tools / GREW <= self._taken_from <= tools * GREW:
                self._vectors, self._taken_from = self._take(connection), tools
            vectors = self._vectors
        scores = vectors @ query
        return float(scores.mean()) * tools, float((scores * scores).mean()) * tools

    def _take(self, connection: "Connection[Any]") -> Vectors:
        query = f"SELECT whole FROM {self.table} WHERE tenant = %s ORDER BY dice LIMIT %s"
        with connection.cursor(binary=True) as cursor:
            return read_half_vectors([row[0] for row in cursor.execute(query.encode(), (self.tenant, SAMPLE))])


@dataclass(slots=True)
class PostgresDense:
    """How near tools are to the vectors of one request."""

    connection: "Connection[Any]"
    request: Request
    sample: Sample
    tools: int
    _wholes: dict[int, Vectors] = field(default_factory=dict[int, Vectors])  # by identity, as the next
    _passages: dict[int, NDArray[np.float16]] = field(default_factory=dict[int, NDArray[np.float16]])

    def nearness(self, queries: Vectors, ranked: Sequence[int]) -> list[Nearness]:
        """Where the nearest tools stand, and those that the other arm `ranked`, by number."""
        shortlists = [self._shortlist(query) for query in queries]
        self._read_wholes([self.request.identities[number] for number in ranked])
        self._read_passages({identity for some in shortlists for identity in some})
        numbers = {identity: self.request.number(identity) for some in shortlists for identity in some}
        numbers |= {self.request.identities[number]: number for number in ranked}
        return [self._seen(query, some, numbers) for query, some in zip(queries, shortlists, strict=True)]

    def words(self, numbers: Collection[int]) -> list[tuple[int, list[str]]]:
        """The words of these tools, by number."""
        identities = {self.request.identities[number]: number for number in numbers}
        query = f"SELECT id, words FROM {self.request.table} WHERE id = ANY(%s) AND tenant = %s"
        rows = self.connection.execute(query.encode(), (list(identities), self.request.tenant))
        return [(identities[identity], said.split(" ")) for identity, said in rows]

    def _seen(self, query: Vectors, shortlist: Sequence[int], numbers: dict[int, int]) -> Nearness:
        known = [identity for identity in numbers if identity in self._wholes]  # some may have left meanwhile
        scores = np.full(len(self.request.identities), GONE, dtype=np.float32)
        if not known:
            return Nearness.of(scores, scores > GONE)
        at = np.array([numbers[identity] for identity in known])
        scores[at] = np.stack([self._wholes[identity] for identity in known]) @ query
        read = [identity for identity in shortlist if len(self._passages.get(identity, ()))]
        if read:
            blocks = [self._passages[identity] for identity in read]
            starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
            nearest = np.maximum.reduceat(np.concatenate(blocks).astype(np.float32) @ query, starts)
            at = np.array([numbers[identity] for identity in read])
            scores[at] = WHOLE * scores[at] + (1 - WHOLE) * np.maximum(scores[at], nearest)
        seen = Nearness.of(scores, scores > GONE)
        if len(shortlist) >= self.tools:
            return seen
        mean, spread = mean_and_spread(*self.sample.moments(self.connection, query, self.tools), self.tools)
        return Nearness(scores=seen.scores, nearest=seen.nearest[:DEPTH], mean=mean, spread=spread)

    def _shortlist(self, query: Vectors) -> list[int]:
        """The tools whose whole text is nearest."""
        wanted = self.tools if self.tools <= EXACT_UP_TO else shortlisted(self.tools)
        if self.tools > COMPARE_ALL_UP_TO:
            found = self._nearest("whole <#> %s::halfvec", query, wanted)
            if len(found) >= wanted:
                return found
        # The graph was left early, because most of what is near belongs to others or is hidden; or there is no more.
        return self._nearest("(whole <#> %s::halfvec) + 0", query, wanted)

    def _nearest(self, order: str, query: Vectors, wanted: int) -> list[int]:
        request = self.request
        statement = (
            f"SELECT id, whole FROM {request.table} WHERE tenant = %s{request.condition} ORDER BY {order} LIMIT %s"
        )
        with self.connection.cursor(binary=True) as cursor:
            sent = (request.tenant, *request.parameters, _literal(query), wanted)
            rows = cursor.execute(statement.encode(), sent).fetchall()
        self._keep_wholes(rows)
        return [row[0] for row in rows]

    def _read_wholes(self, identities: Sequence[int]) -> None:
        missing = [identity for identity in identities if identity not in self._wholes]
        if missing:
            query = f"SELECT id, whole FROM {self.request.table} WHERE id = ANY(%s) AND tenant = %s"
            with self.connection.cursor(binary=True) as cursor:
                self._keep_wholes(cursor.execute(query.encode(), (missing, self.request.tenant)).fetchall())

    def _keep_wholes(self, rows: Sequence[tuple[int, bytes]]) -> None:
        if rows:
            self._wholes |= dict(
                zip((row[0] for row in rows), read_half_vectors([row[1] for row in rows]), strict=True)
            )

    def _read_passages(self, identities: set[int]) -> None:
        dimensions = len(next(iter(self._wholes.values()), ()))
        query = f"SELECT id, passages FROM {self.request.table} WHERE id = ANY(%s) AND tenant = %s"
        with self.connection.cursor(binary=True) as cursor:
            for identity, sent in cursor.execute(query.encode(), (list(identities), self.request.tenant)):
                self._passages[identity] = np.frombuffer(sent, dtype="<f2").reshape(-1, dimensions)


def _literal(vector: Vectors) -> str:
    return f"[{','.join(map(repr, vector.astype(np.float64).tolist()))}]"
