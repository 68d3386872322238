"""One tool of an index in PostgreSQL: what an explanation needs of it, and which tools are like it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from toolcrib.postgres.index.arms import PostgresDense, Request
from toolcrib.postgres.index.rows import hashes_of, read_half_vectors, term_hash
from toolcrib.search.dense import ABSENT
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.lexical import QueryTerm
from toolcrib.search.result import Hit, match_reason

if TYPE_CHECKING:
    from psycopg import Connection


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
