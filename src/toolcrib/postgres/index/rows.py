"""A tool as a row of the index: counted words, half-precision vectors, in PostgreSQL's binary format."""

import hashlib
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from toolcrib.postgres.migrations import Component, Migration
from toolcrib.search.dense import parameter_texts
from toolcrib.search.kernels.hashing import deletion_hashes
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.lexical import WEIGHTS, part_words
from toolcrib.search.text import MAX_LETTERS, word_terms, words
from toolcrib.search.typos import MAX_LETTERS as MAX_SLIP, MIN_LETTERS as MIN_SLIP
from toolcrib.tools.tool import Tool

FORM = 1  # of what a row holds: a change here makes every tool be indexed anew
TERM = np.dtype([("hash", "<u4"), ("count", "u1")])
COLUMNS = (
    "tenant", "name", "category", "source", "risk", "spelled", "related", "digest", "dice", "length", "terms", "words",
    "lexemes", "whole", "passages",
)  # fmt: skip
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_TRAILER = struct.pack(">h", -1)
_TEXT = 25  # the number PostgreSQL has for the type `text`


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The row of a tool, without its vectors."""

    tool: Tool
    words: tuple[str, ...]
    counts: Counter[str]  # how often each term counts

    @classmethod
    def of(cls, tool: Tool) -> "Row":
        parts = part_words(tool)
        terms = {word: word_terms(word) for part in parts for word in part}
        counted = (word for part, weight in zip(parts, WEIGHTS.values(), strict=True) for word in part * weight)
        return cls(
            tool=tool,
            words=tuple(terms),
            counts=Counter(chain.from_iterable(terms[word] for word in counted)),
        )

    def encoded(self, tenant: int, digest: bytes, whole: Vectors, others: Vectors) -> bytes:
        """The row as `COPY ... (FORMAT binary)` reads it."""
        tool = self.tool
        terms = np.array([(term_hash(term), min(count, 255)) for term, count in self.counts.items()], dtype=TERM)
        fields = (
            struct.pack(">i", tenant),
            tool.name.encode(),
            folded(tool.category).encode(),
            folded(tool.source).encode(),
            tool.risk.value.encode(),
            spelled(tool.name).encode(),
            _text_array(tool.related),
            digest,
            struct.pack(">i", crc32(b"dice" + tool.name.encode()) >> 1),
            struct.pack(">i", self.counts.total()),
            terms.tobytes(),
            " ".join(self.words).encode(),
            _tsvector(tenant, self.counts),
            half_vector(whole),
            others.astype("<f2").tobytes(),
        )
        return struct.pack(">h", len(fields)) + b"".join(struct.pack(">i", len(one)) + one for one in fields)


def copied(rows: Iterable[bytes]) -> Iterable[bytes]:
    """Encoded rows as a whole stream."""
    return chain([_SIGNATURE], rows, [_TRAILER])


def digest_of(tool: Tool, embedder: str) -> bytes:
    """A digest that is equal for equal rows."""
    content = (
        FORM, embedder, tool.name, tool.description, tool.category, tool.source, tool.risk.value, tool.related,
        tool.phrases, parameter_texts(tool.parameters),
    )  # fmt: skip
    return hashlib.blake2b(repr(content).encode("utf-8", "replace"), digest_size=16).digest()


def half_vector(vector: Vectors) -> bytes:
    """A vector as pgvector sends a `halfvec`."""
    return struct.pack(">hh", len(vector), 0) + vector.astype(">f2").tobytes()


def read_half_vectors(sent: Sequence[bytes]) -> Vectors:
    """What pgvector sent: one row per `halfvec`."""
    rows: NDArray[np.float16] = np.frombuffer(b"".join(one[4:] for one in sent), dtype=">f2").reshape(len(sent), -1)
    return rows.astype(np.float32)


def lexeme(tenant: int, term: str) -> str:
    """A term as the lexical index spells it."""
    return f"{tenant} {term}"


def term_hash(term: str) -> int:
    return crc32(term.encode("utf-8", "replace"))


def hashes_of(terms: bytes) -> frozenset[int]:
    """The hashes of a row's terms."""
    held: NDArray[Any] = np.frombuffer(terms, dtype=TERM)
    return frozenset(held["hash"].tolist())


def spelled(name: str) -> str:
    """A name as words: `get_page` and `getPage` are equal."""
    return " ".join(words(name))


def folded(text: str) -> str:
    """A text by which a policy may choose, as PostgreSQL can hold it: no NUL, no half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode().replace("\0", "").casefold()


def is_kept(word: str) -> bool:
    """Whether a request may be guessed to mean this word: a run of a whole sentence resembles nothing."""
    return len(word) <= MAX_LETTERS


def forms_of(word: str) -> list[int]:
    """The hashes by which a misspelled word is found."""
    return deletion_hashes(word) if MIN_SLIP <= len(word) <= MAX_SLIP else []


def _text_array(texts: Sequence[str]) -> bytes:
    sent = [text.encode("utf-8", "replace").replace(b"\0", b"") for text in texts]
    head = struct.pack(">iii", 1 if sent else 0, 0, _TEXT) + (struct.pack(">ii", len(sent), 1) if sent else b"")
    return head + b"".join(struct.pack(">i", len(one)) + one for one in sent)


def _tsvector(tenant: int, terms: Iterable[str]) -> bytes:
    sent = sorted(lexeme(tenant, term).encode("utf-8", "replace") for term in terms)
    return struct.pack(">i", len(sent)) + b"".join(one + b"\0\0\0" for one in sent)  # no positions


# The tables of an index in PostgreSQL. One set for each length of vectors: an HNSW index holds one length only.

SHARED = Component(
    "search",
    (
        Migration(
            1,
            (
                "CREATE EXTENSION IF NOT EXISTS vector",
                """
                CREATE TABLE toolcrib_index (
                    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                    tenant text NOT NULL UNIQUE,
                    embedder text NOT NULL,
                    dimensions integer NOT NULL,
                    tools bigint NOT NULL DEFAULT 0,
                    tokens bigint NOT NULL DEFAULT 0,
                    revision bigint NOT NULL DEFAULT 0
                )
                """,
                """
                CREATE TABLE toolcrib_index_term (
                    tenant integer NOT NULL REFERENCES toolcrib_index ON DELETE CASCADE,
                    term text COLLATE "C" NOT NULL,
                    tools bigint NOT NULL,
                    PRIMARY KEY (tenant, term)
                )
                """,
                """
                CREATE TABLE toolcrib_index_word (
                    tenant integer NOT NULL REFERENCES toolcrib_index ON DELETE CASCADE,
                    word text COLLATE "C" NOT NULL,
                    tools bigint NOT NULL,
                    forms bigint[] NOT NULL,
                    PRIMARY KEY (tenant, word)
                )
                """,
                # Without a list of what is still to be sorted in: every search would have to read through it.
                "CREATE INDEX toolcrib_index_word_forms ON toolcrib_index_word"
                " USING gin (forms) WITH (fastupdate = off)",
            ),
        ),
    ),
)


def table_of(dimensions: int) -> str:
    """The table for tools with vectors of that length."""
    return f"toolcrib_index_tool_{int(dimensions)}"


def slow_indexes(dimensions: int) -> dict[str, str]:
    """The indexes that are faster to create after a bulk load, by name."""
    table = table_of(dimensions)
    return {
        f"{table}_lexemes": f"CREATE INDEX {table}_lexemes ON {table} USING gin (lexemes) WITH (fastupdate = off)",
        f"{table}_whole": f"CREATE INDEX {table}_whole ON {table} USING hnsw (whole halfvec_ip_ops)",
    }


def component(dimensions: int) -> Component:
    """The tables for vectors of a length."""
    table = table_of(dimensions)
    return Component(
        f"search {int(dimensions)}",
        (
            Migration(
                1,
                (
                    # `terms` are hashes of terms with their counts, read to score; `words` are read to forget a tool.
                    f"""
                    CREATE TABLE {table} (
                        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                        tenant integer NOT NULL REFERENCES toolcrib_index ON DELETE CASCADE,
                        name text NOT NULL,
                        category text NOT NULL,
                        source text NOT NULL,
                        risk text NOT NULL,
                        spelled text NOT NULL,
                        related text[] NOT NULL,
                        digest bytea NOT NULL,
                        dice integer NOT NULL,
                        length integer NOT NULL,
                        terms bytea NOT NULL,
                        words text NOT NULL,
                        lexemes tsvector NOT NULL,
                        whole halfvec({int(dimensions)}) NOT NULL,
                        passages bytea NOT NULL
                    )
                    """,
                    # Vectors hardly compress, and compressed ones would have to be opened for every search.
                    f"ALTER TABLE {table} ALTER passages SET STORAGE EXTERNAL, ALTER whole SET STORAGE PLAIN,"
                    " ALTER terms SET STORAGE MAIN",
                    f"CREATE UNIQUE INDEX {table}_name ON {table} (tenant, name)",
                    f"CREATE INDEX {table}_spelled ON {table} (tenant, spelled)",
                    f"CREATE INDEX {table}_dice ON {table} (tenant, dice)",
                    *slow_indexes(dimensions).values(),
                ),
            ),
        ),
    )
