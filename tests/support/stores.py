"""The engines that a store can stand on: places to open one at, by this process or another."""

import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import psycopg

from benchmarks.postgres_server import PostgresServer
from toolcrib.postgres.sessions import PostgresStore
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.stores.store import Store

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


KEPT = Path(__file__).parents[1] / "stores" / "kept"


def old_store(folder: Path, form: int) -> Path:
    """A SQLite store as an older Toolcrib wrote it, from the texts in `tests/stores/kept`."""
    folder.mkdir(exist_ok=True)
    path = folder / f"form-{form}.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((KEPT / f"sqlite_form_{form}.sql").read_text(encoding="utf-8"))
    return path


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> None:
        self.now += timedelta(**span)


class Backend(Protocol):
    """One kind of store."""

    def new_place(self) -> str:
        """An empty place, as `open_store` takes it."""
        ...

    def emptied_place(self) -> str:
        """An empty place, perhaps one that was used before: for those who need many, one after the other."""
        ...

    def open(self, place: str, clock: Callable[[], datetime] | None = None) -> Store: ...

    def problems(self, place: str) -> list[str]:
        """What the engine itself finds wrong at a place."""
        ...


class SqliteBackend:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()

    def new_place(self) -> str:
        return str(self._folder / f"sessions-{next(self._numbers)}.db")

    def emptied_place(self) -> str:
        return self.new_place()

    def open(self, place: str, clock: Callable[[], datetime] | None = None) -> Store:
        # Without an fsync a step: a hundred times faster here, and no test of ours can cut the power.
        return SqliteStore(place, durable=False, clock=clock) if clock else SqliteStore(place, durable=False)

    def problems(self, place: str) -> list[str]:
        with closing(sqlite3.connect(place)) as connection:
            found = [row[0] for row in connection.execute("PRAGMA integrity_check")]
            found += [str(row) for row in connection.execute("PRAGMA foreign_key_check")]
        return [] if found == ["ok"] else found


class PostgresBackend:
    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._reused = ""

    def new_place(self) -> str:
        return self._server.new_database()

    def emptied_place(self) -> str:
        self._reused = self._reused or self.new_place()
        with psycopg.connect(self._reused) as connection:
            if connection.execute("SELECT to_regclass('toolcrib_sessions')").fetchone() != (None,):
                connection.execute("DELETE FROM toolcrib_sessions")
        return self._reused

    def open(self, place: str, clock: Callable[[], datetime] | None = None) -> Store:
        return PostgresStore(place, clock=clock)

    def problems(self, place: str) -> list[str]:
        # Foreign keys and unique keys are checked by the server; what it cannot know is that positions have no gaps.
        with psycopg.connect(place) as connection:
            return [
                str(row)
                for table in ("toolcrib_messages", "toolcrib_events")
                for row in connection.execute(
                    f"SELECT tenant, session, count(*), max(position) FROM {table} GROUP BY tenant, session"
                    " HAVING count(*) <> max(position) + 1".encode()
                )
            ]
