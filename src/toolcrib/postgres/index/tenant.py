"""One tenant of an index in PostgreSQL: its connections and tables, and the catalog that it follows."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, TypeVar

from toolcrib.errors import StoreError
from toolcrib.postgres.database import PostgresAddress, PostgresDatabase
from toolcrib.postgres.index.arms import PostgresWords, Sample, Size
from toolcrib.postgres.index.rows import SHARED, component, table_of
from toolcrib.postgres.index.writer import PostgresWriter
from toolcrib.postgres.migrations import migrate
from toolcrib.search.corpus import CatalogChange
from toolcrib.search.embedders.embedder import Embedder, FallibleEmbedder
from toolcrib.search.index import ToolSet
from toolcrib.tools.tool import Tool

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
    """What is known once the database was reached."""

    pool: "ConnectionPool[Any]"
    tenant: int
    words: PostgresWords
    sample: Sample


class TenantIndex:
    """Opened at the first use; safe under threads."""

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
        """The number that all its rows have."""
        return self._open().tenant

    @property
    def words(self) -> PostgresWords:
        """The vocabulary of its tools."""
        return self._open().words

    @property
    def sample(self) -> Sample:
        """A sample of its vectors."""
        return self._open().sample

    def size(self, connection: "Connection[Any]") -> Size:
        """The current counts."""
        query = "SELECT tools, tokens, revision FROM toolcrib_index WHERE id = %s"
        tools, tokens, revision = connection.execute(query, (self.tenant,)).fetchone() or (0, 0, 0)
        return Size(tools=tools, tokens=tokens, revision=revision)

    @contextmanager
    def connection(self) -> "Generator[Connection[Any]]":
        """A connection that commits each statement."""
        from toolcrib.postgres.errors import translated_errors

        pool = self._open().pool
        with translated_errors(self._address.place), pool.connection() as connection:
            yield connection

    def read(self, work: "Callable[[Connection[Any]], Result]") -> Result:
        """What `work` reads; tried once more on another connection if the first one broke."""
        from toolcrib.postgres.errors import is_connection_lost, translated_errors

        pool = self._open().pool
        with translated_errors(self._address.place):
            try:
                with pool.connection() as connection:
                    return work(connection)
            except Exception as error:
                if isinstance(error, StoreError) or not is_connection_lost(error):
                    raise
                logger.info("The connection to %s broke; it is asked again.", self._address.place)
            pool.check()
            with pool.connection() as connection:
                return work(connection)

    def close(self) -> None:
        """Close all connections; a later use opens them again."""
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
            await migrate(connection, SHARED)
            await migrate(connection, component(embedder.dimensions))
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


# A catalog that is written to the index. Several replicas may follow catalogs with the same tools.

CATALOG_TENANT = ""  # whose shared catalog the commands follow


class CatalogFollower:
    """Writes what changes in a catalog to the index, before the next search. Safe under threads."""

    def __init__(self, index: TenantIndex, embedder: Embedder, catalog: ToolSet, fallible: FallibleEmbedder) -> None:
        self.catalog = catalog
        self._index = index
        self._embedder = embedder
        self._fallible = fallible
        self._steps: deque[CatalogChange] = deque()
        self._lock = RLock()
        self._is_purged = False
        self._checked_revision = -1
        # The listener only notes the step: a catalog never waits for a database.
        self.close = catalog.subscribe(self._steps.append, replay=True)

    def catch_up(self) -> tuple[str, ...]:
        """Write what the catalog announced. If the embedder fails, returns warnings; the next search retries."""
        with self._lock:
            return self._tried(self._write_steps) if self._steps or not self._is_purged else ()

    def restore_missing(self, revision: int) -> tuple[bool, tuple[str, ...]]:
        """Write again what another replica removed and this one still has; returns whether it did, and warnings.

        Replicas may lose the connection to a source at different times. `revision` is the one just read: the names are
        compared only once for each.
        """
        with self._lock:
            if revision == self._checked_revision:
                return False, ()
            missing = [self.catalog.get(name) for name in self._missing() if name in self.catalog]
            warnings = self._tried(lambda: self._write(missing, ())) if missing else ()
            if not warnings:
                self._checked_revision = revision
            return bool(missing) and not warnings, warnings

    def _tried(self, work: Callable[[], None]) -> tuple[str, ...]:
        """Do what needs the embedder: its failure is a warning, a failure of the database an error."""
        failures: list[StoreError] = []

        def attempt() -> None:
            try:
                work()
            except StoreError as error:
                failures.append(error)

        warnings = self._fallible.run(attempt)[1]
        if failures:
            raise failures[0]
        return warnings

    def _write_steps(self) -> None:
        added: dict[str, Tool] = {}
        removed: dict[str, None] = {}
        if not self._is_purged:
            removed |= dict.fromkeys(name for name in self._removed_from_catalog() if name not in self.catalog)
        waiting = tuple(self._steps)
        for step in waiting:
            for name in step.removed:
                added.pop(name, None)
                removed[name] = None
            added |= {tool.name: tool for tool in step.added}
        self._write(list(added.values()), list(removed))
        self._is_purged = True
        for _ in waiting:  # only now: what could not be written is tried again
            self._steps.popleft()

    def _write(self, added: list[Tool], removed: "list[str] | tuple[()]") -> None:
        with self._index.connection() as connection:
            PostgresWriter(self._index.tenant, self._embedder).apply(connection, removed, added)

    def _missing(self) -> list[str]:
        """The tools of the catalog that the index does not have."""
        query = (
            "SELECT own.name FROM unnest(%s::text[]) AS own (name) WHERE NOT EXISTS"
            f" (SELECT FROM {self._index.table} AS held WHERE held.tenant = %s AND held.name = own.name)"
        )
        names = [tool.name for tool in self.catalog]
        return self._names(query, (names, self._index.tenant))

    def _removed_from_catalog(self) -> list[str]:
        """The tools of the index that the shared catalog removed, maybe while no replica was running."""
        exists = self._index.read(
            lambda connection: connection.execute("SELECT to_regclass('toolcrib_catalog_tool') IS NOT NULL").fetchone()
        )
        if exists is None or not exists[0]:
            return []
        query = (
            f"SELECT held.name FROM {self._index.table} AS held JOIN toolcrib_catalog_tool AS shared"
            " ON shared.tenant = %s AND shared.name = held.name WHERE held.tenant = %s AND shared.definition IS NULL"
        )
        return self._names(query, (CATALOG_TENANT, self._index.tenant))

    def _names(self, query: str, values: tuple[object, ...]) -> list[str]:
        return self._index.read(
            lambda connection: [name for (name,) in connection.execute(query.encode(), values).fetchall()]
        )
