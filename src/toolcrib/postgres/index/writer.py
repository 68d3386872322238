"""Puts tools into an index in PostgreSQL and takes them out, with the counts of their words, in one transaction."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import TYPE_CHECKING, Any

from toolcrib.postgres.index.rows import COLUMNS, Row, copied, digest_of, forms_of, is_kept, slow_indexes, table_of
from toolcrib.search.dense import passages
from toolcrib.search.embedders.embedder import Embedder
from toolcrib.search.text import word_terms
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from psycopg import Connection


TOOLS_AT_ONCE = 1_000  # their vectors and texts are held in memory meanwhile


@dataclass(slots=True)
class _Counts:
    """How a change alters the counts of a tenant."""

    terms: Counter[str]
    words: Counter[str]
    tools: int = 0
    tokens: int = 0

    def count(self, words: Sequence[str], length: int, times: int) -> None:
        for word in words:
            if is_kept(word):
                self.words[word] += times
        for term in {term for word in words for term in word_terms(word)}:
            self.terms[term] += times
        self.tools += times
        self.tokens += times * length


@dataclass(frozen=True, slots=True)
class _Ready:
    """A row that is ready to be sent."""

    name: str
    words: Sequence[str]
    length: int
    sent: bytes


class PostgresWriter:
    """Writes for one tenant. Writers may be concurrent: each transaction locks the tenant's row."""

    def __init__(self, tenant: int, embedder: Embedder) -> None:
        self._tenant = tenant
        self._embedder = embedder
        self._table = table_of(embedder.dimensions)

    def apply(self, connection: "Connection[Any]", removed: Sequence[str], added: Iterable[Tool]) -> int:
        """Remove some tools, then add others or replace those with their names; returns how many changed.

        What is there already, word for word, is left as it is: several replicas may put the same tools.
        """
        changed = 0
        for tools in _some(added, TOOLS_AT_ONCE):
            changed += self._apply(connection, removed, {tool.name: tool for tool in tools})
            removed = ()
        return changed + (self._apply(connection, removed, {}) if removed else 0)

    def _apply(self, connection: "Connection[Any]", removed: Sequence[str], tools: Mapping[str, Tool]) -> int:
        digests = {name: digest_of(tool, self._embedder.id) for name, tool in tools.items()}
        # Before the lock: embedding may take long, and what another replica put meanwhile is looked at again.
        ready = {row.name: row for row in self._made(tools, digests, self._digests(connection, tools))}
        with connection.transaction():
            connection.execute("SELECT 1 FROM toolcrib_index WHERE id = %s FOR UPDATE", (self._tenant,))
            held = self._digests(connection, tools)
            fresh = [name for name in tools if held.get(name) != digests[name]]
            late = {name: tools[name] for name in fresh if name not in ready}
            ready |= {row.name: row for row in self._made(late, digests, {})}
            counts = _Counts(Counter(), Counter())
            self._remove(connection, [*(name for name in removed if name not in tools), *fresh], counts)
            taken = -counts.tools
            self._copy(connection, [ready[name] for name in fresh], counts)
            if fresh or taken:
                self._settle(connection, counts)
        return len(fresh) + max(0, taken - sum(name in held for name in fresh))

    def _digests(self, connection: "Connection[Any]", names: Iterable[str]) -> dict[str, bytes]:
        query = f"SELECT name, digest FROM {self._table} WHERE tenant = %s AND name = ANY(%s)"
        return dict(connection.execute(query.encode(), (self._tenant, list(names))).fetchall())

    def _made(
        self, tools: Mapping[str, Tool], digests: Mapping[str, bytes], held: Mapping[str, bytes]
    ) -> Iterator["_Ready"]:
        """The rows of the tools that are new or changed."""
        fresh = [tool for name, tool in tools.items() if held.get(name) != digests[name]]
        texts = [passages(tool) for tool in fresh]
        vectors = self._embedder.embed_documents([text for own in texts for text in own])
        bounds = pairwise(accumulate((len(own) for own in texts), initial=0))
        for tool, (start, end) in zip(fresh, bounds, strict=True):
            row = Row.of(tool)
            sent = row.encoded(self._tenant, digests[tool.name], vectors[start], vectors[start + 1 : end])
            yield _Ready(tool.name, row.words, row.counts.total(), sent)

    def _remove(self, connection: "Connection[Any]", names: Sequence[str], counts: "_Counts") -> None:
        if names:
            query = f"DELETE FROM {self._table} WHERE tenant = %s AND name = ANY(%s) RETURNING words, length"
            for words, length in connection.execute(query.encode(), (self._tenant, list(names))):
                counts.count(words.split(" ") if words else [], length, -1)

    def _copy(self, connection: "Connection[Any]", rows: Sequence["_Ready"], counts: "_Counts") -> None:
        if rows:
            statement = f"COPY {self._table} ({', '.join(COLUMNS)}) FROM STDIN (FORMAT binary)"
            with connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
                for part in copied(row.sent for row in rows):
                    copy.write(part)
            for row in rows:
                counts.count(row.words, row.length, +1)

    def _settle(self, connection: "Connection[Any]", counts: _Counts) -> None:
        connection.execute(
            "UPDATE toolcrib_index SET tools = tools + %s, tokens = tokens + %s, revision = revision + 1 WHERE id = %s",
            (counts.tools, counts.tokens, self._tenant),
        )
        terms = sorted((term, count) for term, count in counts.terms.items() if count)
        if terms:
            connection.execute(
                "INSERT INTO toolcrib_index_term AS held (tenant, term, tools)"
                " SELECT %s, * FROM unnest(%s::text[], %s::bigint[])"
                " ON CONFLICT (tenant, term) DO UPDATE SET tools = held.tools + excluded.tools",
                (self._tenant, [term for term, _ in terms], [count for _, count in terms]),
            )
        words = sorted((word, count) for word, count in counts.words.items() if count)
        if words:
            connection.execute(
                "INSERT INTO toolcrib_index_word AS held (tenant, word, tools, forms)"
                " SELECT %s, word, tools, forms::bigint[] FROM unnest(%s::text[], %s::bigint[], %s::text[])"
                " AS fresh (word, tools, forms)"
                " ON CONFLICT (tenant, word) DO UPDATE SET tools = held.tools + excluded.tools",
                (
                    self._tenant,
                    [word for word, _ in words],
                    [count for _, count in words],
                    [f"{{{','.join(map(str, forms_of(word)))}}}" for word, _ in words],
                ),
            )
        for table, column, moved in (
            ("toolcrib_index_term", "term", terms),
            ("toolcrib_index_word", "word", words),
        ):
            if fewer := [one for one, count in moved if count < 0]:
                query = f"DELETE FROM {table} WHERE tenant = %s AND {column} = ANY(%s) AND tools <= 0"
                connection.execute(query.encode(), (self._tenant, fewer))


def drop_slow_indexes(connection: "Connection[Any]", dimensions: int) -> bool:
    """Drop the indexes that would be updated row by row, if no tenant has a tool yet; returns whether it did."""
    query = f"SELECT NOT EXISTS (SELECT FROM {table_of(dimensions)})"
    empty = connection.execute(query.encode()).fetchone()
    if empty is None or not empty[0]:
        return False
    for name in slow_indexes(dimensions):
        connection.execute(f"DROP INDEX IF EXISTS {name}".encode())
    return True


def make_slow_indexes(connection: "Connection[Any]", dimensions: int) -> None:
    """Create them again over all rows at once: many times faster than row by row."""
    for name, statement in slow_indexes(dimensions).items():
        connection.execute(f"DROP INDEX IF EXISTS {name}".encode())
        connection.execute(statement.encode())
    for table in (table_of(dimensions), "toolcrib_index_term", "toolcrib_index_word"):
        connection.execute(f"ANALYZE {table}".encode())


def _some(tools: Iterable[Tool], size: int) -> Iterator[list[Tool]]:
    rest = iter(tools)
    while some := list(islice(rest, size)):
        yield some
