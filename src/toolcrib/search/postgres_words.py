"""How a request is read where the words of the tools are counted in PostgreSQL: by the same rules as in memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from threading import Lock
from typing import TYPE_CHECKING, Any

from toolcrib.search.asked_words import MAX_WORDS, AskedWord, asked_word, spoken_words, taken_for
from toolcrib.search.lexical import READ
from toolcrib.search.postgres_rows import forms_of, is_kept
from toolcrib.search.terms import content_words, word_terms
from toolcrib.search.text import brands, is_run
from toolcrib.search.vocabulary import MAX_ENDING, MIN_PART, MIN_PREFIX, Vocabulary

if TYPE_CHECKING:
    from psycopg import Connection

LONGER = 8  # letters that a known word may have more than the one that was asked for
MOST_LIKE_IT = 2_000  # words that begin alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much a tenant has, at a revision of its index."""

    tools: int
    tokens: int
    revision: int


@dataclass(slots=True)
class PostgresWords:
    """The words of one tenant. What was looked up is remembered until the index changes."""

    tenant: int
    _revision: int = -1
    _frequency: dict[str, int] = field(default_factory=dict[str, int])  # 0 for a term that no tool has
    _asked: dict[str, AskedWord] = field(default_factory=dict[str, AskedWord])
    _lock: Lock = field(default_factory=Lock)

    def read(self, connection: "Connection[Any]", texts: Sequence[str], size: Size) -> "Reading":
        """How these texts are understood."""
        with self._lock:
            if self._revision != size.revision or len(self._asked) > READ:
                self._revision, self._frequency, self._asked = size.revision, {}, {}
            frequency, asked = self._frequency, self._asked
        spoken = [[*content_words(text)[:MAX_WORDS], *brands(text)] for text in texts]
        wanted = {term for words in spoken for word in words for term in word_terms(word)}
        _look_up(connection, self.tenant, wanted, frequency)
        known = {term: count for term in wanted if (count := frequency[term])}
        fresh = {word for text in texts for word in spoken_words(text, known) if word not in asked}
        vocabulary = Vocabulary()
        if unknown := [word for word in fresh if _may_be_guessed(word, known)]:
            for like, tools in _alike(connection, self.tenant, unknown):
                vocabulary.count(like, tools)
            taken = [guess for word in unknown for guess in taken_for(word, vocabulary).words]
            terms = {term for guess in taken for term in word_terms(guess)}
            _look_up(connection, self.tenant, terms, frequency)
            known |= {term: count for term in terms if (count := frequency[term])}
        for word in fresh:
            asked[word] = asked_word(word, known, vocabulary, tools=size.tools)
        words = {text: tuple(asked[word] for word in spoken_words(text, known)) for text in texts}
        used = {term for own in words.values() for word in own for term in word.terms}
        return Reading(words=words, frequency={term: frequency[term] for term in used}, size=size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Texts that were read, and in how many tools their terms stand."""

    words: dict[str, tuple[AskedWord, ...]]
    frequency: dict[str, int]
    size: Size


def _look_up(connection: "Connection[Any]", tenant: int, terms: Iterable[str], frequency: dict[str, int]) -> None:
    missing = [term for term in terms if term not in frequency]
    if missing:
        query = "SELECT term, tools FROM toolcrib_index_term WHERE tenant = %s AND term = ANY(%s)"
        found = dict(connection.execute(query, (tenant, missing)).fetchall())
        frequency.update((term, found.get(term, 0)) for term in missing)


def _may_be_guessed(word: str, known: dict[str, int]) -> bool:
    return is_kept(word) and not is_run(word) and not any(term in known for term in word_terms(word))


def _alike(connection: "Connection[Any]", tenant: int, words: Sequence[str]) -> list[tuple[str, int]]:
    """The known words that could be meant: those that begin like one of these, are one slip away, or parts of it."""
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
