"""Both arms in PostgreSQL. pgvector finds the tools whose whole text is near; their passages are compared here.

How near tools are in general, which the judges need to know, is told by a sample of them that a replica holds.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.postgres.index.filter import Filter, condition as condition_of
from toolcrib.postgres.index.rows import TERM, forms_of, hashes_of, is_kept, lexeme, read_half_vectors, term_hash
from toolcrib.search.dense import ABSENT, DEPTH, EXACT_UP_TO, WHOLE, Similarity, mean_and_spread, shortlisted
from toolcrib.search.kernels.rows import Places, Vectors
from toolcrib.search.lexical import (
    MAX_WORDS,
    READ,
    LexicalMatch,
    QueryTerm,
    guess_meaning,
    length_norms,
    query_term,
    query_words,
    term_weight,
)
from toolcrib.search.text import brands, content_words, is_unspaced, word_terms
from toolcrib.search.typos import MAX_ENDING, MIN_PART, MIN_PREFIX, Vocabulary

if TYPE_CHECKING:
    from psycopg import Connection


# One request to an index in PostgreSQL: whose tools, which of them, and the numbers they have meanwhile.


@dataclass(slots=True)
class Request:
    """The candidates of one search, and the part of each statement that says which tools may be among them."""

    table: str
    tenant: int
    filters: Sequence[Filter] = ()
    condition: str = field(init=False)  # begins with `AND`, or is empty
    parameters: list[object] = field(init=False)
    identities: list[int] = field(default_factory=list[int])  # by number, as the table knows them
    _numbers: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        self.condition, self.parameters = condition_of(self.filters)

    @property
    def order(self) -> Places:
        """The place of each number among tools with equal scores, the same in every replica."""
        return np.array(self.identities, dtype=np.int64)

    def number(self, identity: int) -> int:
        """The number of a tool in this request."""
        number = self._numbers.setdefault(identity, len(self.identities))
        if number == len(self.identities):
            self.identities.append(identity)
        return number


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
        """The sum of the scores of all tools and of their squares, estimated from the sample."""
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
    """The dense arm: the similarity of tools to the vectors of one request."""

    connection: "Connection[Any]"
    request: Request
    sample: Sample
    tools: int
    _wholes: dict[int, Vectors] = field(default_factory=dict[int, Vectors])  # by identity, as the next
    _passages: dict[int, NDArray[np.float16]] = field(default_factory=dict[int, NDArray[np.float16]])

    def similarities(self, queries: Vectors, ranked: Sequence[int]) -> list[Similarity]:
        """Where the nearest tools stand, and those that the other arm `ranked`, by number."""
        shortlists = [self._shortlist(query) for query in queries]
        self._read_wholes([self.request.identities[number] for number in ranked])
        self._read_passages({identity for some in shortlists for identity in some})
        numbers = {identity: self.request.number(identity) for some in shortlists for identity in some}
        numbers |= {self.request.identities[number]: number for number in ranked}
        return [self._seen(query, some, numbers) for query, some in zip(queries, shortlists, strict=True)]

    def _seen(self, query: Vectors, shortlist: Sequence[int], numbers: dict[int, int]) -> Similarity:
        known = [identity for identity in numbers if identity in self._wholes]  # some may have left meanwhile
        scores = np.full(len(self.request.identities), ABSENT, dtype=np.float32)
        if not known:
            return Similarity.of(scores, scores > ABSENT, self.request.order)
        at = np.array([numbers[identity] for identity in known])
        scores[at] = np.stack([self._wholes[identity] for identity in known]) @ query
        read = [identity for identity in shortlist if len(self._passages.get(identity, ()))]
        if read:
            blocks = [self._passages[identity] for identity in read]
            starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
            nearest = np.maximum.reduceat(np.concatenate(blocks).astype(np.float32) @ query, starts)
            at = np.array([numbers[identity] for identity in read])
            scores[at] = WHOLE * scores[at] + (1 - WHOLE) * np.maximum(scores[at], nearest)
        seen = Similarity.of(scores, scores > ABSENT, self.request.order)
        if len(shortlist) >= self.tools:
            return seen
        mean, spread = mean_and_spread(*self.sample.moments(self.connection, query, self.tools), self.tools)
        return Similarity(scores=seen.scores, nearest=seen.nearest[:DEPTH], mean=mean, spread=spread)

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


# How a request is read where the words of the tools are counted in PostgreSQL: by the same rules as in memory.

LONGER = 8  # letters that a known word may have more than the one that was asked for
MOST_LIKE_IT = 2_000  # words that begin alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The counts of a tenant, at a revision of its index."""

    tools: int
    tokens: int
    revision: int


@dataclass(slots=True)
class PostgresWords:
    """The vocabulary of one tenant, cached until the index changes."""

    tenant: int
    _revision: int = -1
    _frequency: dict[str, int] = field(default_factory=dict[str, int])  # 0 for a term that no tool has
    _asked: dict[str, QueryTerm] = field(default_factory=dict[str, QueryTerm])
    _lock: Lock = field(default_factory=Lock)

    def read(self, connection: "Connection[Any]", texts: Sequence[str], size: Size) -> "Reading":
        """The terms of these texts."""
        with self._lock:
            if self._revision != size.revision or len(self._asked) > READ:
                self._revision, self._frequency, self._asked = size.revision, {}, {}
            frequency, asked = self._frequency, self._asked
        spoken = [[*content_words(text)[:MAX_WORDS], *brands(text)] for text in texts]
        wanted = {term for words in spoken for word in words for term in word_terms(word)}
        _look_up(connection, self.tenant, wanted, frequency)
        known = {term: count for term in wanted if (count := frequency[term])}
        fresh = {word for text in texts for word in query_words(text, known) if word not in asked}
        vocabulary = Vocabulary()
        if unknown := [word for word in fresh if _may_be_guessed(word, known)]:
            for like, tools in _alike(connection, self.tenant, unknown):
                vocabulary.count(like, tools)
            taken = [guess for word in unknown for guess in guess_meaning(word, vocabulary).words]
            terms = {term for guess in taken for term in word_terms(guess)}
            _look_up(connection, self.tenant, terms, frequency)
            known |= {term: count for term in terms if (count := frequency[term])}
        for word in fresh:
            asked[word] = query_term(word, known, vocabulary, tools=size.tools)
        words = {text: tuple(asked[word] for word in query_words(text, known)) for text in texts}
        used = {term for own in words.values() for word in own for term in word.terms}
        return Reading(words=words, frequency={term: frequency[term] for term in used}, size=size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The terms of texts, and how many tools contain each."""

    words: dict[str, tuple[QueryTerm, ...]]
    frequency: dict[str, int]
    size: Size


def _look_up(connection: "Connection[Any]", tenant: int, terms: Iterable[str], frequency: dict[str, int]) -> None:
    missing = [term for term in terms if term not in frequency]
    if missing:
        query = "SELECT term, tools FROM toolcrib_index_term WHERE tenant = %s AND term = ANY(%s)"
        found = dict(connection.execute(query, (tenant, missing)).fetchall())
        frequency.update((term, found.get(term, 0)) for term in missing)


def _may_be_guessed(word: str, known: dict[str, int]) -> bool:
    return is_kept(word) and not is_unspaced(word) and not any(term in known for term in word_terms(word))


def _alike(connection: "Connection[Any]", tenant: int, words: Sequence[str]) -> list[tuple[str, int]]:
    """The known words that could be meant: those with the same beginning, one edit away, or parts of a compound."""
    query = """
        SELECT word, tools FROM toolcrib_index_word WHERE tenant = %(tenant)s AND word = ANY(%(pieces)s)
        UNION
        SELECT word, tools FROM toolcrib_index_word WHERE tenant = %(tenant)s AND forms && %(forms)s::bigint[]
        UNION
        SELECT word, tools FROM unnest(%(starts)s::text[], %(ends)s::text[], %(longest)s::int[])
            AS asked (start, stop, longest)
        CROSS JOIN LATERAL (
            SELECT word, tools FROM toolcrib_index_word
            WHERE tenant = %(tenant)s AND word >= start COLLATE "C" AND word < stop COLLATE "C"
                AND length(word) <= longest
            LIMIT %(most)s
        ) AS like_it
    """
    long = [word for word in words if len(word) >= MIN_PREFIX]
    starts = [word[: max(MIN_PREFIX, ceil(len(word) * 0.6), len(word) - MAX_ENDING)] for word in long]
    values = {
        "tenant": tenant,
        "pieces": [piece for word in words for piece in _pieces(word)],
        "forms": [form for word in words if word.isalpha() for form in forms_of(word)],
        "starts": starts,
        "ends": [start + "\U0010ffff" for start in starts],
        "longest": [len(word) + LONGER for word in long],
        "most": MOST_LIKE_IT,
    }
    return connection.execute(query, values).fetchall()


def _pieces(word: str) -> list[str]:
    """The parts that a compound may begin or end with."""
    size = len(word)
    return [word[:end] for end in range(MIN_PART, size)] + [word[at:] for at in range(1, size - MIN_PART + 1)]


# The lexical arm in PostgreSQL: a full-text index of our own terms names candidates, BM25 orders them here.

ENOUGH = 1_500  # candidates of a text, about
TOGETHER = 5  # frequent terms that are looked for all together
PAIRED = 3  # and in pairs: a pair with a term that half of the tools have costs much and tells little


class PostgresLexical:
    """The tools that share words with the texts of one request."""

    def __init__(self, connection: "Connection[Any]", request: Request, reading: Reading) -> None:
        self._connection = connection
        self.request = request
        self.reading = reading
        self._terms: dict[int, bytes] = {}  # of the tools that were ranked

    def __len__(self) -> int:
        return self.reading.size.tools

    def texts(self, numbers: Collection[int]) -> list[tuple[int, str, list[str]]]:
        """The number, the name and the words of each of these tools."""
        identities = {self.request.identities[number]: number for number in numbers}
        query = f"SELECT id, name, words FROM {self.request.table} WHERE id = ANY(%s) AND tenant = %s"
        rows = self._connection.execute(query.encode(), (list(identities), self.request.tenant))
        return [(identities[identity], name, text.split(" ")) for identity, name, text in rows]

    def search(self, text: str, limit: int) -> LexicalMatch:
        """The `limit` tools that share the most telling words with the text."""
        asked = self.reading.words[text]
        weights = self._weights(asked)
        rows: list[tuple[int, int, bytes]] = self._candidates(list(weights)) if weights else []
        if not rows:
            return LexicalMatch(tool_ids=(), scores=(), terms=asked)
        identities = np.array([row[0] for row in rows], dtype=np.int64)
        scores = self._scores(rows, weights)
        best = np.lexsort((identities, -scores))[:limit]
        places: list[int] = best[scores[best] > 0].tolist()
        numbers = [self.request.number(rows[at][0]) for at in places]
        self._terms |= {number: rows[at][2] for at, number in zip(places, numbers, strict=True)}
        return LexicalMatch(tool_ids=tuple(numbers), scores=tuple(scores[places].tolist()), terms=asked)

    def matched(self, tool_ids: Sequence[int], terms: Sequence[QueryTerm]) -> list[list[QueryTerm]]:
        """The words of a request that the texts of each of these tools contain."""
        held = [hashes_of(self._terms[tool_id]) for tool_id in tool_ids]  # only tools that were ranked are asked about
        return [
            [word for word in terms if word.known and not own.isdisjoint(map(term_hash, word.terms))] for own in held
        ]

    def _weights(self, asked: Sequence[QueryTerm]) -> dict[str, float]:
        """The weight of each term of a text; one that two words have counts twice."""
        weights: dict[str, float] = {}
        for word in asked:
            for term in word.terms:
                own = term_weight(word, self.reading.frequency[term], self.reading.size.tools)
                weights[term] = weights.get(term, 0.0) + own
        return weights

    def _candidates(self, terms: Sequence[str]) -> list[tuple[int, int, bytes]]:
        rare, frequent, room = list[str](), list[str](), ENOUGH
        for term in sorted(terms, key=lambda term: (self.reading.frequency[term], term)):
            room -= self.reading.frequency[term]
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
        request = self.request
        query = f"SELECT id, length, terms FROM {request.table} WHERE tenant = %s AND lexemes @@ %s::tsquery"
        values = [request.tenant, terms, *request.parameters]
        query += request.condition
        if limit is not None:
            query += " LIMIT %s"
            values.append(limit)
        with self._connection.cursor(binary=True) as cursor:
            return cursor.execute(query.encode(), values).fetchall()

    def _quoted(self, term: str) -> str:
        quoted = lexeme(self.request.tenant, term).replace("\\", "\\\\").replace("'", "''")
        return f"'{quoted}'"

    def _scores(self, rows: Sequence[tuple[int, int, bytes]], weights: dict[str, float]) -> NDArray[np.float64]:
        held: NDArray[Any] = np.frombuffer(b"".join(row[2] for row in rows), dtype=TERM)
        owners = np.repeat(np.arange(len(rows)), [len(row[2]) // TERM.itemsize for row in rows])
        hashes = np.array([term_hash(term) for term in weights], dtype=np.uint32)
        order = np.argsort(hashes)
        place = np.searchsorted(hashes[order], held["hash"])
        place[place == len(hashes)] = 0
        hit = hashes[order][place] == held["hash"]
        worth = np.array(list(weights.values()))[order][place[hit]]
        size = self.reading.size
        norms = length_norms(np.array([row[1] for row in rows], dtype=np.int64), size.tokens / max(1, size.tools))
        counts, owners = held["count"][hit].astype(np.float64), owners[hit]
        parts = worth * counts / (counts + norms[owners])
        return np.bincount(owners, weights=parts, minlength=len(rows)).astype(np.float64)


def _combined(terms: Sequence[str]) -> Iterator[str]:
    """The first of the terms all together, then each pair of the very first."""
    if len(terms) > 2:
        yield " & ".join(terms[:TOGETHER])
    if pairs := [f"({one} & {other})" for at, other in enumerate(terms[:PAIRED]) for one in terms[:at]]:
        yield " | ".join(pairs)
