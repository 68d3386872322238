"""A PostgreSQL database as its operator sees it."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, LiteralString, Self

from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.migrations import version_of
from toolcrib.stores.moments import microseconds
from toolcrib.stores.owner import Owner
from toolcrib.stores.place import PlaceStatus
from toolcrib.stores.postgres import PostgresStore
from toolcrib.stores.postgres_leases import NOW
from toolcrib.stores.postgres_schema import SESSIONS

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_COUNTS: dict[str, LiteralString] = {
    "tenants": "SELECT count(DISTINCT tenant) FROM toolcrib_sessions",
    "sessions": "SELECT count(*) FROM toolcrib_sessions",
    "messages": "SELECT count(*) FROM toolcrib_messages",
    "events": "SELECT count(*) FROM toolcrib_events",
    "bytes": "SELECT sum(pg_total_relation_size(to_regclass(name)))::bigint FROM unnest(ARRAY['toolcrib_sessions',"
    " 'toolcrib_messages', 'toolcrib_events', 'toolcrib_confirmations', 'toolcrib_leases']) AS held (name)",
}


class PostgresPlace:
    """A `Place` in a database."""

    def __init__(self, url: str, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._looks = PostgresDatabase(url, most_connections=2)  # without tables of its own: it changes nothing
        self._database = PostgresDatabase(url)

    def store(self, tenant: str) -> PostgresStore:
        """The sessions of one tenant."""
        return PostgresStore(self._database, tenant=tenant)

    async def tenants(self) -> tuple[str, ...]:
        """Those that have sessions."""

        async def read(connection: "AsyncConnection[Any]") -> tuple[str, ...]:
            if not await version_of(connection, SESSIONS):
                return ()
            rows = await connection.execute("SELECT DISTINCT tenant FROM toolcrib_sessions ORDER BY tenant")
            return tuple([tenant for (tenant,) in await rows.fetchall()])

        return await self._looks.read(read)

    async def status(self) -> PlaceStatus:
        """What is in it; only looks."""

        async def read(connection: "AsyncConnection[Any]") -> PlaceStatus:
            form = await version_of(connection, SESSIONS)
            counts: dict[str, int] = {}
            if form:
                counts = {name: await _number(connection, query) for name, query in _COUNTS.items()}
                query = "SELECT count(*) FROM toolcrib_confirmations WHERE settled_as IS NULL AND expires_at > %s"
                counts["open_questions"] = await _number(connection, query, (microseconds(self._clock()),))
                counts["open_sessions"] = len(await _holders(connection, gone=False))
            return PlaceStatus(
                engine="PostgreSQL", place=self._looks.place, form=form, newest_form=SESSIONS.version, **counts
            )

        return await self._looks.read(read)

    async def bring_up(self) -> None:
        """Make the tables, or bring them to the newest form."""
        self._database.require(SESSIONS)
        async with self._database.connection():
            pass

    async def tidy(self) -> int:
        """Forget the leases of the dead. Space is given back by PostgreSQL itself (autovacuum)."""
        self._database.require(SESSIONS)

        async def remove(connection: "AsyncConnection[Any]") -> int:
            dead = await _holders(connection, gone=True)
            query = "DELETE FROM toolcrib_leases WHERE token = ANY(%s)"
            return (await connection.execute(query, (dead,))).rowcount

        return await self._database.write(remove)

    async def close(self) -> None:
        await self._looks.close()
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()


async def _number(connection: "AsyncConnection[Any]", query: LiteralString, values: tuple[object, ...] = ()) -> int:
    row = await (await connection.execute(query, values)).fetchone()
    return row[0] if row and row[0] else 0


async def _holders(connection: "AsyncConnection[Any]", *, gone: bool) -> list[str]:
    """The tokens of leases whose holder is there, or of those whose holder is gone."""
    rows = await connection.execute(
        f"SELECT token, expires_at <= {NOW}, host, pid, started FROM toolcrib_leases", {"now": None}
    )
    return [token for token, is_over, *owner in await rows.fetchall() if (is_over or Owner(*owner).is_gone()) is gone]
