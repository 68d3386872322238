"""The tables of an index in PostgreSQL. One set for each length of vectors: an HNSW index holds one length only.

Every row belongs to a tenant, by the number that `toolcrib_index` gives it, and every statement names that number. The
lexemes carry it too (`7 page`), so that the postings of one tenant are never walked for another.
"""

from toolcrib.postgres.migrations import Component, Migration

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
    """The table of the tools whose vectors have that length."""
    return f"toolcrib_index_tool_{int(dimensions)}"


def slow_indexes(dimensions: int) -> dict[str, str]:
    """The indexes that are better made after the rows than kept while they come, by name."""
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
