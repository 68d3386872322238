"""One tool of an index in PostgreSQL: why it ranks where it does for a request, and which tools are like it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from toolcrib.postgres.index.arms import PostgresDense, Request
from toolcrib.postgres.index.rows import hashes_of, read_half_vectors, term_hash
from toolcrib.search.dense import ABSENT, passages
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.lexical import LexicalMatch, QueryTerm
from toolcrib.search.query import FusedResult, Strategy
from toolcrib.search.rerank import LateInteraction
from toolcrib.search.result import Explanation, Hit, Path, why
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from psycopg import Connection


@dataclass(frozen=True, slots=True)
class ToolRow:
    """What the table has of one tool."""

    number: int  # in the request
    whole: Vectors
    terms: frozenset[int]

    @classmethod
    def fetch(cls, connection: "Connection[Any]", request: Request, name: str) -> "ToolRow | None":
        """The row of a tool; None if there is none that may be found."""
        query = f"SELECT id, whole, terms FROM {request.table} WHERE tenant = %s AND name = %s{request.condition}"
        with connection.cursor(binary=True) as cursor:
            row = cursor.execute(query.encode(), (request.tenant, name, *request.parameters)).fetchone()
        if row is None:
            return None
        return cls(request.number(row[0]), read_half_vectors([row[1]])[0], hashes_of(row[2]))

    def matched(self, terms: Sequence[QueryTerm]) -> list[QueryTerm]:
        """The terms of a request that the tool's texts contain."""
        return [term for term in terms if term.known and not self.terms.isdisjoint(map(term_hash, term.terms))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a search gave, as far as an explanation needs it."""

    findings: FusedResult
    every: LexicalMatch  # the whole lexical ranking
    ranking: Sequence[tuple[int, float]]
    path: Path
    reason: str
    warnings: tuple[str, ...]


def explain_tool(
    name: str,
    row: ToolRow,
    tool: Tool | None,
    outcome: Outcome,
    *,
    query: str,
    strategy: Strategy,
    tools: int,
    meanings: LateInteraction,
    dense: PostgresDense | None,
) -> Explanation:
    """The part of one tool in one search. Its rank by meaning counts the tools that were compared.

    Without the `tool` itself, which no table has, its nearest text stays empty.
    """
    findings, every, number = outcome.findings, outcome.every, row.number
    terms = findings.words.matches[0].asked
    matched = row.matched(terms)
    order = [found for found, _ in outcome.ranking]
    scores = findings.nearness.scores
    seen = number < len(scores) and bool(scores[number] > ABSENT)
    close = meanings.read(findings.words.meant[0], [number] if seen else [])
    nearest = ""
    if tool is not None and dense is not None and findings.vector is not None and seen:
        nearest = passages(tool)[_nearest_passage(row, dense, findings.vector)]
    return Explanation(
        query=query,
        name=name,
        rank=order.index(number) + 1 if number in order else None,
        share=dict([*findings.ranking, *outcome.ranking]).get(number, 0.0),
        path=outcome.path,
        confidence=1.0 if outcome.path == "exact" else findings.confidence,
        reason=outcome.reason,
        tools=tools,
        lexical_rank=every.numbers.index(number) + 1 if number in every.numbers else None,
        lexical_score=dict(zip(every.numbers, every.scores, strict=True)).get(number, 0.0),
        matched=tuple(term.word for term in matched),
        guessed=tuple(
            (term.word, (term.meant,) if term.meant else term.terms) for term in terms if term.guessed or term.meant
        ),
        missing=tuple(term.word for term in terms if term not in matched),
        dense_rank=int((scores > scores[number]).sum()) + 1 if seen else None,
        cosine=float(scores[number]) if seen else None,
        nearest=nearest,
        asked=float(close.asked.sum()),
        told=float(close.told.sum()),
        lexical_sure=findings.lexical_sure,
        serves=findings.serves,
        lexical_above=strategy.lexical_above,
        blended_above=strategy.blended_above,
        answer_above=strategy.answer_above,
        parts=findings.words.texts[1:],
        warnings=outcome.warnings,
    )


def similar_tools(
    connection: "Connection[Any]", request: Request, row: ToolRow, dense: PostgresDense, limit: int
) -> tuple[Hit, ...]:
    """The tools nearest in meaning to one tool."""
    scores = dense.nearness(row.whole[None], [row.number])[0].scores
    numbers = np.flatnonzero(scores > ABSENT).tolist()
    order = sorted((n for n in numbers if n != row.number), key=lambda n: (-float(scores[n]), n))[:limit]
    query = f"SELECT id, name FROM {request.table} WHERE tenant = %s AND id = ANY(%s)"
    identities = [request.identities[number] for number in order]
    names = dict(connection.execute(query.encode(), (request.tenant, identities)).fetchall())
    found = [(names.get(request.identities[number]), float(scores[number])) for number in order]
    return tuple(Hit(name=name, score=score, why=why(())) for name, score in found if name is not None)


def removed_from_catalog(connection: "Connection[Any]", request: Request, catalog_tenant: str) -> list[str]:
    """The tools of the index that the shared catalog of a tenant has removed."""
    exists = connection.execute("SELECT to_regclass('toolcrib_catalog_tool') IS NOT NULL").fetchone()
    if exists is None or not exists[0]:
        return []
    query = (
        f"SELECT held.name FROM {request.table} AS held JOIN toolcrib_catalog_tool AS shared"
        " ON shared.tenant = %s AND shared.name = held.name WHERE held.tenant = %s AND shared.definition IS NULL"
    )
    return [name for (name,) in connection.execute(query.encode(), (catalog_tenant, request.tenant))]


def _nearest_passage(row: ToolRow, dense: PostgresDense, vector: Vectors) -> int:
    """Which of a tool's texts is nearest: 0 for the whole, else the number of the passage."""
    held = dense.passages_of(row.number)
    scores = [float(row.whole @ vector)]
    if len(held):
        scores += (held.astype(np.float32) @ vector).tolist()
    return int(np.argmax(scores))
