"""A cache of vectors that replicas share, so that a slow model embeds each text once. It never raises errors.

For the built-in embedder it is not worth a look: it makes a vector in less time than a database sends one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from toolcrib.errors import StoreError
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.migrations import Component, Migration, migrate
from toolcrib.search.embedders.cache import Vector

if TYPE_CHECKING:
    from psycopg import AsyncConnection


VECTORS = Component(
    "vectors",
    (
        Migration(
            1,
            (
                """
                CREATE TABLE toolcrib_vector (
                    tenant text NOT NULL,
                    embedder text NOT NULL,
                    key bytea NOT NULL,
                    vector bytea NOT NULL,
                    PRIMARY KEY (tenant, embedder, key)
                )
                """,
            ),
        ),
    ),
)
Result = TypeVar("Result")
logger = logging.getLogger(__name__)


class VectorTable:
    """The vectors of one tenant and one embedder: give it to `CachedEmbedder` in place of a folder."""

    def __init__(self, url: str, embedder: str, *, tenant: str = "") -> None:
        self._url = url
        self._whose = (tenant, embedder)

    def get(self, keys: Collection[bytes]) -> dict[bytes, Vector]:
        """The cached vectors, by key."""

        async def read(connection: "AsyncConnection[Any]") -> dict[bytes, Vector]:
            query = "SELECT key, vector FROM toolcrib_vector WHERE tenant = %s AND embedder = %s AND key = ANY(%s)"
            rows = await (await connection.execute(query, (*self._whose, list(keys)))).fetchall()
            return {bytes(key): np.frombuffer(vector, dtype="<f4").astype(np.float32) for key, vector in rows}

        return self._use(read, otherwise={})

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Store these vectors."""
        sent = [vector.astype("<f4").tobytes() for vector in vectors.values()]

        async def write(connection: "AsyncConnection[Any]") -> None:
            await connection.execute(
                "INSERT INTO toolcrib_vector (tenant, embedder, key, vector)"
                " SELECT %s, %s, * FROM unnest(%s::bytea[], %s::bytea[])"
                " ON CONFLICT (tenant, embedder, key) DO UPDATE SET vector = excluded.vector",
                (*self._whose, list(vectors), sent),
            )

        self._use(write, otherwise=None)

    def dimensions(self) -> int | None:
        """The length of the cached vectors, if there are any."""

        async def measure(connection: "AsyncConnection[Any]") -> int | None:
            query = "SELECT length(vector) FROM toolcrib_vector WHERE tenant = %s AND embedder = %s LIMIT 1"
            row = await (await connection.execute(query, self._whose)).fetchone()
            return row[0] // 4 if row else None

        return self._use(measure, otherwise=None)

    def keep_only(self, keys: Collection[bytes]) -> int:
        """Remove every other vector and return how many there were."""

        async def remove(connection: "AsyncConnection[Any]") -> int:
            query = "DELETE FROM toolcrib_vector WHERE tenant = %s AND embedder = %s AND NOT key = ANY(%s)"
            return (await connection.execute(query, (*self._whose, list(keys)))).rowcount

        return self._use(remove, otherwise=0)

    def __repr__(self) -> str:
        return f"VectorTable({self._whose[0]!r})"

    def _use(self, work: "Callable[[AsyncConnection[Any]], Awaitable[Result]]", *, otherwise: Result) -> Result:
        # A connection for each use: next to a slow model it costs nothing, and none is left open by anyone.
        async def once() -> Result:
            async with PostgresDatabase(self._url) as database, database.own_connection() as connection:
                await migrate(connection, VECTORS)
                return await work(connection)

        try:
            with ThreadPoolExecutor(1) as aside:  # we may stand in an event loop
                return aside.submit(asyncio.run, once()).result()
        except StoreError as error:
            logger.warning("Vectors are not shared: %s", error)
            return otherwise
