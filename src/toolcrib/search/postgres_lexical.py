"""The lexical arm in PostgreSQL: a full-text index of our own terms names candidates, BM25 orders them here.

A request has rare and frequent terms. All tools with a rare one are candidates, and of the tools that have only
frequent ones those that have two of them: reading every tool that says "get" would take a second, and would not help.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.asked_words import AskedWord, guess_strength
from toolcrib.search.lexical import LexicalMatch
from toolcrib.search.postgres_request import Request
from toolcrib.search.postgres_rows import TERM, hashes_of, lexeme, term_hash
from toolcrib.search.postgres_words import Reading

if TYPE_CHECKING:
    from psycopg import Connection

ENOUGH = 1_500  # candidates of a text, about
TOGETHER = 5  # frequent terms that are looked for all together
PAIRED = 3  # and in pairs: a pair with a term that half of the tools have costs much and tells little
K1, B = 1.2, 0.75  # as Tantivy has them


class PostgresLexical:
    """The tools that share words with the texts of one request."""

    def __init__(self, connection: "Connection[Any]", request: Request, reading: Reading) -> None:
        self._connection = connection
        self._request = request
        self._reading = reading
        self._terms: dict[int, bytes] = {}  # of the tools that were ranked

    def __len__(self) -> int:
        return self._reading.size.tools

    def search(self, text: str, limit: int) -> LexicalMatch:
        """The `limit` tools that share the most telling words with the text."""
        asked = self._reading.words[text]
        weights = self._weights(asked)
        rows: list[tuple[int, int, bytes]] = self._candidates(list(weights)) if weights else []
        if not rows:
            return LexicalMatch(numbers=(), scores=(), asked=asked)
        identities = np.array([row[0] for row in rows], dtype=np.int64)
        scores = self._scores(rows, weights)
        best = np.lexsort((identities, -scores))[:limit]
        places: list[int] = best[scores[best] > 0].tolist()
        numbers = [self._request.number(rows[at][0]) for at in places]
        self._terms |= {number: rows[at][2] for at, number in zip(places, numbers, strict=True)}
        return LexicalMatch(numbers=tuple(numbers), scores=tuple(scores[places].tolist()), asked=asked)

    def matched(self, numbers: Sequence[int], asked: Sequence[AskedWord]) -> list[list[AskedWord]]:
        """The words of a request that the texts of each of these tools contain."""
        held = [hashes_of(self._terms[number]) for number in numbers]  # only tools that were ranked are asked about
        return [
            [word for word in asked if word.known and not own.isdisjoint(map(term_hash, word.terms))] for own in held
        ]

    def _weights(self, asked: Sequence[AskedWord]) -> dict[str, float]:
        """What each term of a text counts; one that two words have counts twice."""
        tools = self._reading.size.tools
        weights: dict[str, float] = {}
        for word in asked:
            for term in word.terms:
                count = self._reading.frequency[term]
                rarity = np.log(1 + (tools - count + 0.5) / (count + 0.5))
                weights[term] = weights.get(term, 0.0) + guess_strength(word) * float(rarity)
        return weights

    def _candidates(self, terms: Sequence[str]) -> list[tuple[int, int, bytes]]:
        rare, frequent, room = list[str](), list[str](), ENOUGH
        for term in sorted(terms, key=lambda term: (self._reading.frequency[term], term)):
            room -= self._reading.frequency[term]
            (rare if room >= 0 else frequent).append(self._quoted(term))
        found = {row[0]: row for row in (self._fetched(" | ".join(rare), None) if rare else ())}
        for terms in _combined(frequent):
            if len(found) >= ENOUGH:
                break
            found |= {row[0]: row for row in self._fetched(terms, ENOUGH)}
        if not found and frequent:
            return self._fetched(frequent[0], ENOUGH)
        return list(found.values())

    def _fetched(self, terms: str, limit: int | None) -> list[tuple[int, int, bytes]]:
        request = self._request
        query = f"SELECT id, length, terms FROM {request.table} WHERE tenant = %s AND lexemes @@ %s::tsquery"
        values = [request.tenant, terms, *request.parameters]
        query += request.condition
        if limit is not None:
            query += " LIMIT %s"
            values.append(limit)
        with self._connection.cursor(binary=True) as cursor:
            return cursor.execute(query.encode(), values).fetchall()

    def _quoted(self, term: str) -> str:
        said = lexeme(self._request.tenant, term).replace("\\", "\\\\").replace("'", "''")
        return f"'{said}'"

    def _scores(self, rows: Sequence[tuple[int, int, bytes]], weights: dict[str, float]) -> NDArray[np.float64]:
        held: NDArray[Any] = np.frombuffer(b"".join(row[2] for row in rows), dtype=TERM)
        owners = np.repeat(np.arange(len(rows)), [len(row[2]) // TERM.itemsize for row in rows])
        hashes = np.array([term_hash(term) for term in weights], dtype=np.uint32)
        order = np.argsort(hashes)
        place = np.searchsorted(hashes[order], held["hash"])
        place[place == len(hashes)] = 0
        hit = hashes[order][place] == held["hash"]
        worth = np.array(list(weights.values()))[order][place[hit]]
        size = self._reading.size
        lengths = rounded_lengths(np.array([row[1] for row in rows], dtype=np.int64))
        norms = K1 * (1 - B + B * lengths / (size.tokens / max(1, size.tools)))
        counts, owners = held["count"][hit].astype(np.float64), owners[hit]
        parts = worth * (1 + K1) * counts / (counts + norms[owners])
        return np.bincount(owners, weights=parts, minlength=len(rows)).astype(np.float64)


def _combined(terms: Sequence[str]) -> Iterator[str]:
    """The first of the terms all together, then each pair of the very first."""
    if len(terms) > 2:
        yield " & ".join(terms[:TOGETHER])
    if pairs := [f"({one} & {other})" for at, other in enumerate(terms[:PAIRED]) for one in terms[:at]]:
        yield " | ".join(pairs)


def rounded_lengths(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Lengths as Tantivy keeps them, in one byte: exact for short texts, to an eighth for long ones."""
    rest = np.maximum(lengths - 24, 0)
    shift = np.maximum(np.frexp(rest)[1].astype(np.int64) - 4, 0)  # all but the four highest bits are lost
    return np.where(lengths < 24, lengths, 24 + (rest >> shift << shift))
