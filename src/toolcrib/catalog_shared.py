"""The catalog that many replicas share: sources register once, in PostgreSQL, and every change has a revision number.

A registration takes the tenant's row first and keeps it to the end. So revisions become visible in their order, and a
replica that has seen number 7 never has to look for a 6 that came late.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolcrib.catalog_shared_changes import Registration, Row, changes, registration
from toolcrib.catalog_shared_definition import written
from toolcrib.catalog_shared_tables import CATALOG, CHANNEL
from toolcrib.errors import UnknownToolError
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.migrations import bring_up
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from psycopg import AsyncConnection


@dataclass(frozen=True, slots=True)
class SharedTool:
    """A tool as replicas read it; without a definition it is the trace of one that went."""

    name: str
    source: str
    revision: int
    definition: str | None


class SharedCatalog:
    """The catalog of one tenant. It needs no `close`: its connections are the database's.

    With `review`, a source's first tools can be found at once; what is new or changed later waits until `approve`.
    """

    def __init__(self, database: PostgresDatabase, *, tenant: str = "", review: bool = False) -> None:
        self.database = database
        self.tenant = tenant
        self._review = review
        self._ready = False
        self._preparing = asyncio.Lock()

    @property
    def notified_as(self) -> str:
        """What replicas hear when this tenant's tools change."""
        return self.tenant[:1_000]

    async def register(self, source: str, tools: Iterable[Tool]) -> Registration:
        """Let a source have exactly these tools. Several replicas may register the same: the first one changes it."""
        given = {tool.name: written(tool) for tool in tools}
        await self._prepare()

        async def work(connection: "AsyncConnection[Any]") -> Registration:
            revision = await self._revision(connection, lock=True)
            held = await self._held(connection, source, list(given))
            rows = changes(source, given, held, review=self._review)
            if rows:
                revision += 1
                await self._write(connection, source, rows, revision)
            return registration(revision, source, given, held, rows)

        return await self.database.write(work)

    async def publish(self, tools: Iterable[Tool]) -> dict[str, Registration]:
        """Register the tools of several sources; gives what became of each source."""
        by_source: dict[str, list[Tool]] = defaultdict(list)
        for tool in tools:
            by_source[tool.source].append(tool)
        return {source: await self.register(source, own) for source, own in by_source.items()}

    async def waiting(self) -> dict[str, str]:
        """The definitions that wait to be approved, by name."""
        await self._prepare()
        query = (
            "SELECT name, waiting FROM toolcrib_catalog_tool WHERE tenant = %s AND waiting IS NOT NULL ORDER BY name"
        )
        async with self.database.connection() as connection:
            return dict(await (await connection.execute(query, (self.tenant,))).fetchall())

    async def approve(self, names: Sequence[str]) -> int:
        """Let tools that wait be found from now on; gives the catalog's revision."""
        await self._prepare()

        async def work(connection: "AsyncConnection[Any]") -> int:
            revision = await self._revision(connection, lock=True) + 1
            query = (
                "UPDATE toolcrib_catalog_tool SET definition = waiting, approved = waiting, waiting = NULL,"
                " revision = %s WHERE tenant = %s AND name = ANY(%s) AND waiting IS NOT NULL RETURNING name"
            )
            rows = await (await connection.execute(query, (revision, self.tenant, list(names)))).fetchall()
            if unknown := sorted(set(names) - {name for (name,) in rows}):
                raise UnknownToolError(unknown[0], [name for (name,) in rows])
            await self._announce(connection, revision)
            return revision

        return await self.database.write(work)

    async def since(self, revision: int) -> tuple[int, list[SharedTool]]:
        """The catalog's revision, and what changed after another one, in the order of the changes."""
        await self._prepare()

        async def work(connection: "AsyncConnection[Any]") -> tuple[int, list[SharedTool]]:
            now = await self._revision(connection)
            query = (
                "SELECT name, source, revision, definition FROM toolcrib_catalog_tool"
                " WHERE tenant = %s AND revision > %s ORDER BY revision, name"
            )
            rows = await (await connection.execute(query, (self.tenant, revision))).fetchall()
            return now, [SharedTool(*row) for row in rows]

        return await self.database.read(work)

    async def _prepare(self) -> None:
        async with self._preparing:
            if not self._ready:
                async with self.database.connection() as connection:
                    await bring_up(connection, CATALOG)
                    query = "INSERT INTO toolcrib_catalog (tenant) VALUES (%s) ON CONFLICT DO NOTHING"
                    await connection.execute(query, (self.tenant,))
                self._ready = True

    async def _revision(self, connection: "AsyncConnection[Any]", *, lock: bool = False) -> int:
        query = f"SELECT revision FROM toolcrib_catalog WHERE tenant = %s{' FOR UPDATE' if lock else ''}"
        row = await (await connection.execute(query.encode(), (self.tenant,))).fetchone()
        return row[0] if row else 0

    async def _held(self, connection: "AsyncConnection[Any]", source: str, names: Sequence[str]) -> "dict[str, Row]":
        query = (
            "SELECT name, source, definition, approved, waiting FROM toolcrib_catalog_tool"
            " WHERE tenant = %s AND (source = %s OR name = ANY(%s))"
        )
        rows = await (await connection.execute(query, (self.tenant, source, list(names)))).fetchall()
        return {row[0]: Row(*row[1:]) for row in rows}

    async def _write(
        self, connection: "AsyncConnection[Any]", source: str, rows: "Mapping[str, Row]", revision: int
    ) -> None:
        await connection.execute(
            "INSERT INTO toolcrib_catalog_tool (tenant, name, source, revision, definition, approved, waiting)"
            " SELECT %s, name, %s, %s, definition, approved, waiting"
            " FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[])"
            " AS given (name, definition, approved, waiting)"
            " ON CONFLICT (tenant, name) DO UPDATE SET source = excluded.source, revision = excluded.revision,"
            " definition = excluded.definition, approved = excluded.approved, waiting = excluded.waiting",
            (
                *(self.tenant, source, revision, list(rows)),
                *([row.definition for row in rows.values()], [row.approved for row in rows.values()]),
                [row.waiting for row in rows.values()],
            ),
        )
        await self._announce(connection, revision)

    async def _announce(self, connection: "AsyncConnection[Any]", revision: int) -> None:
        query = "UPDATE toolcrib_catalog SET revision = %s WHERE tenant = %s"
        await connection.execute(query, (revision, self.tenant))
        # Heard when the transaction is kept, and never without it. A payload holds 8,000 bytes: tools are fetched.
        await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, self.notified_as))
