"""A tenant's place in an index in PostgreSQL: its connections, its tables, its number."""

import asyncio
import logging
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from toolcrib.errors import StoreError
from toolcrib.postgres.address import PostgresAddress
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.migrations import bring_up
from toolcrib.search.embedder import Embedder
from toolcrib.search.postgres_dense import Sample
from toolcrib.search.postgres_tables import SHARED, component, table_of
from toolcrib.search.postgres_words import PostgresWords, Size

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

CONNECTIONS = 4
WAIT_SECONDS = 30.0
# For every connection of ours. Walking the graph goes on until enough tools of the tenant are found. All that we ask
# has an index; a planner that reads or sorts whole tables instead is mistaken, as one without statistics is.
SETTINGS = (
    "SET hnsw.ef_search = 200",
    "SET hnsw.iterative_scan = relaxed_order",
    "SET enable_sort = off",
    "SET enable_seqscan = off",
    "SET jit = off",
    "SET work_mem = '32MB'",  # so that the tools with a frequent word are remembered one by one, not by page
)
Result = TypeVar("Result")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Opened:
    """What there is once the database was reached."""

    pool: "ConnectionPool[Any]"
    tenant: int
    words: PostgresWords
    sample: Sample


class PostgresShelf:
    """Opened when it is first used; safe under threads."""

    def __init__(self, url: str, tenant: str, embedder: Embedder, *, connections: int = CONNECTIONS) -> None:
        self._url = url
        self._address = PostgresAddress.read(url)
        self._tenant_name = tenant
        self._embedder = embedder
        self._connections = connections
        self._lock = Lock()
        self._opened: _Opened | None = None

    @property
    def table(self) -> str:
        """Where its tools are."""
        return table_of(self._embedder.dimensions)

    @property
    def tenant(self) -> int:
        """The number that every one of its rows has."""
        return self._open().tenant

    @property
    def words(self) -> PostgresWords:
        """The words of its tools."""
        return self._open().words

    @property
    def sample(self) -> Sample:
        """Some of its vectors."""
        return self._open().sample

    def size(self, connection: "Connection[Any]") -> Size:
        """How much there is now."""
        query = "SELECT tools, tokens, revision FROM toolcrib_index WHERE id = %s"
        tools, tokens, revision = connection.execute(query, (self.tenant,)).fetchone() or (0, 0, 0)
        return Size(tools=tools, tokens=tokens, revision=revision)

    @contextmanager
    def connection(self) -> "Generator[Connection[Any]]":
        """A connection on which each statement is kept at once."""
        from toolcrib.postgres.wording import in_our_words

        pool = self._open().pool
        with in_our_words(self._address.place), pool.connection() as connection:
            yield connection

    def read(self, work: "Callable[[Connection[Any]], Result]") -> Result:
        """What `work` reads; asked once more, on another connection, when the first one broke."""
        from toolcrib.postgres.wording import in_our_words, was_lost

        pool = self._open().pool
        with in_our_words(self._address.place):
            try:
                with pool.connection() as connection:
                    return work(connection)
            except Exception as error:
                if isinstance(error, StoreError) or not was_lost(error):
                    raise
                logger.info("The connection to %s broke; it is asked again.", self._address.place)
            pool.check()
            with pool.connection() as connection:
                return work(connection)

    def close(self) -> None:
        """Let go of all connections; a later use opens them again."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.pool.close()

    def _open(self) -> "_Opened":
        with self._lock:
            if self._opened is None:
                # The tables are brought up by code for event loops, and we may stand in one.
                with ThreadPoolExecutor(1) as aside:
                    number = aside.submit(asyncio.run, self._prepare()).result()
                self._opened = _Opened(self._pool(), number, PostgresWords(number), Sample(number, self.table))
            return self._opened

    def _pool(self) -> "ConnectionPool[Any]":
        from psycopg_pool import ConnectionPool

        return ConnectionPool(
            kwargs={**self._address.parameters, "autocommit": True},
            min_size=1,
            max_size=self._connections,
            timeout=WAIT_SECONDS,
            configure=_configure,
            open=True,
        )

    async def _prepare(self) -> int:
        embedder = self._embedder
        async with PostgresDatabase(self._url) as database, database.own_connection() as connection:
            await bring_up(connection, SHARED)
            await bring_up(connection, component(embedder.dimensions))
            query = "SELECT id, embedder FROM toolcrib_index WHERE tenant = %s"
            found = await (await connection.execute(query, (self._tenant_name,))).fetchone()
            if found is None:  # only then: a standby that is only read has to be of use, too
                await connection.execute(
                    "INSERT INTO toolcrib_index (tenant, embedder, dimensions) VALUES (%s, %s, %s)"
                    " ON CONFLICT DO NOTHING",
                    (self._tenant_name, embedder.id, embedder.dimensions),
                )
                found = await (await connection.execute(query, (self._tenant_name,))).fetchone()
            number, made_by = found or (0, "")
        if made_by != embedder.id:
            raise StoreError(
                f"The index of {self._tenant_name!r} was made with {made_by}, not with {embedder.id}.",
                hint=f"Open it with {made_by}, or make an index under another tenant.",
            )
        return number


def _configure(connection: "Connection[Any]") -> None:
    for setting in SETTINGS:
        connection.execute(setting.encode())
