"""A SQLite file as its operator sees it."""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Self

from toolcrib.stores.moments import microseconds
from toolcrib.stores.owner import Owner
from toolcrib.stores.place import PlaceStatus
from toolcrib.stores.sqlite import SqliteStore
from toolcrib.stores.sqlite_file import SqliteFile, in_our_words
from toolcrib.stores.sqlite_schema import CURRENT, version_of


class SqlitePlace:
    """A `Place` in one file."""

    def __init__(self, path: Path, clock: Callable[[], datetime]) -> None:
        self._path = path
        self._clock = clock
        self._file = SqliteFile(path)

    def store(self, tenant: str) -> SqliteStore:
        """The sessions of one tenant."""
        return SqliteStore(self._file, tenant=tenant, clock=self._clock)

    async def tenants(self) -> tuple[str, ...]:
        """Those that have sessions."""
        if not self._path.exists():
            return ()  # only looking must not make a file
        query = "SELECT DISTINCT tenant FROM sessions ORDER BY tenant"
        return await self._file.read(lambda connection: tuple([row[0] for row in connection.execute(query)]))

    async def status(self) -> PlaceStatus:
        """What is in it; only looks, also at what an older version wrote."""
        return await asyncio.to_thread(self._status)

    def _status(self) -> PlaceStatus:
        empty = PlaceStatus(engine="SQLite", place=str(self._path), form=0, newest_form=CURRENT)
        if not self._path.exists():
            return empty
        with (
            in_our_words(str(self._path)),
            closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)) as connection,
        ):
            form = version_of(connection, str(self._path))
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            counts = {
                table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("sessions", "messages", "events")
                if table in tables
            }
            now = microseconds(self._clock())
            if form:
                counts["tenants"] = connection.execute("SELECT count(DISTINCT tenant) FROM sessions").fetchone()[0]
                counts["open_sessions"] = len(_holders(connection, now, gone=False))
                counts["open_questions"] = connection.execute(
                    "SELECT count(*) FROM confirmations WHERE settled_as IS NULL AND expires_at > ?", (now,)
                ).fetchone()[0]
        size = sum(os.path.getsize(one) for one in self._path.parent.glob(f"{self._path.name}*") if one.is_file())
        return replace(empty, form=form, bytes=size, **counts)

    async def bring_up(self) -> None:
        """Make the tables, or bring them to the newest form."""
        await self._file.read(lambda _: None)

    async def tidy(self) -> int:
        """Forget the leases of the dead, and give back the space of what was deleted."""

        def remove(connection: sqlite3.Connection) -> int:
            dead = _holders(connection, microseconds(self._clock()), gone=True)
            connection.executemany("DELETE FROM leases WHERE tenant = ? AND session = ?", dead)
            return len(dead)

        removed = await self._file.write(remove)
        await self._file.outside_transactions("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
        return removed

    async def close(self) -> None:
        await self._file.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()


def _holders(connection: sqlite3.Connection, now: int, *, gone: bool) -> list[tuple[str, str]]:
    """The sessions whose holder is there, or those whose holder is gone."""
    rows = connection.execute("SELECT tenant, session, expires_at, host, pid, started FROM leases").fetchall()
    return [
        (tenant, session)
        for tenant, session, expires_at, *owner in rows
        if (expires_at <= now or Owner(*owner).is_gone()) is gone
    ]
