"""One SQLite file, one connection, one thread that uses it: the event loop never waits for a disk.

The journal is a WAL: readers never block, and a killed process leaves a file that opens as if nothing had happened.
`synchronous` is FULL. A kill -9 would lose nothing with NORMAL either, because what was written is with the operating
system; but after a power cut NORMAL may forget the last commits, and a confirmation that was used would be good again.
The price, one fsync a step, is small beside the model call that the step waited for.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from toolcrib.errors import StoreError

# The tables of a SQLite store, as data: each version says what it changes, and a file is brought up step by step.

APPLICATION = 0x54435242  # "TCRB": tells our files from other programs'


@dataclass(frozen=True, slots=True)
class Migration:
    """What one version changed."""

    version: int
    statements: tuple[str, ...]


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        1,
        (
            f"PRAGMA application_id = {APPLICATION}",
            """CREATE TABLE sessions (
                tenant TEXT NOT NULL, id TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
                memory TEXT NOT NULL, toolbox TEXT NOT NULL, usage TEXT NOT NULL, PRIMARY KEY (tenant, id))""",
            "CREATE INDEX sessions_by_change ON sessions (tenant, updated_at)",
            """CREATE TABLE messages (
                tenant TEXT NOT NULL, session TEXT NOT NULL, position INTEGER NOT NULL, message TEXT NOT NULL,
                PRIMARY KEY (tenant, session, position),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE)""",
            """CREATE TABLE confirmations (
                tenant TEXT NOT NULL, session TEXT NOT NULL, id TEXT NOT NULL, tool TEXT NOT NULL,
                arguments TEXT NOT NULL, digest TEXT NOT NULL, created_at INTEGER NOT NULL,
                expires_at INTEGER NOT NULL, settled_at INTEGER, settled_as TEXT, PRIMARY KEY (tenant, session, id),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE)""",
            """CREATE TABLE leases (
                tenant TEXT NOT NULL, session TEXT NOT NULL, token TEXT NOT NULL, host TEXT NOT NULL,
                pid INTEGER NOT NULL, started TEXT NOT NULL, expires_at INTEGER NOT NULL,
                PRIMARY KEY (tenant, session),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE)""",
        ),
    ),
    Migration(
        2,
        (
            "ALTER TABLE sessions ADD COLUMN title TEXT NOT NULL DEFAULT ''",
            """CREATE TABLE events (
                tenant TEXT NOT NULL, session TEXT NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL,
                event TEXT NOT NULL, PRIMARY KEY (tenant, session, position),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE)""",
        ),
    ),
    Migration(
        3,
        (
            "ALTER TABLE sessions ADD COLUMN fence INTEGER NOT NULL DEFAULT 0",
            """CREATE TABLE calls (
                tenant TEXT NOT NULL, session TEXT NOT NULL, id TEXT NOT NULL, tool TEXT NOT NULL,
                fence INTEGER NOT NULL, begun_at INTEGER NOT NULL, PRIMARY KEY (tenant, session, id),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE)""",
        ),
    ),
)
CURRENT = MIGRATIONS[-1].version


def migrate(connection: sqlite3.Connection, place: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring a file to the newest version, or leave it untouched. Safe when several processes do so at once."""
    if version_of(connection, place) == migrations[-1].version:
        return
    connection.execute("BEGIN IMMEDIATE")  # the others wait here, and then find that all is done
    try:
        held = version_of(connection, place)
        for migration in migrations:
            if migration.version > held:
                for statement in migration.statements:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {migration.version}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def version_of(connection: sqlite3.Connection, place: str) -> int:
    """The version of a file that is ours, 0 when it is new; refuses what is newer than we are, or not ours."""
    version = version_number(connection)
    if not version and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return 0
    if not version or connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise StoreError(
            f"{place} is a database of another program; it was not touched.",
            hint="Name another file with --store or TOOLCRIB_STORE.",
        )
    refuse_newer(version, place)
    return version


def version_number(connection: sqlite3.Connection) -> int:
    """The number that stands in the file."""
    return connection.execute("PRAGMA user_version").fetchone()[0]


def refuse_newer(version: int, place: str) -> None:
    """We do not know what a newer version would expect of us."""
    if version > CURRENT:
        raise StoreError(
            f"{place} was written by a newer Toolcrib (form {version}; this one knows forms up to {CURRENT}). "
            "It was not touched.",
            hint="Update Toolcrib: pip install --upgrade toolcrib",
        )


BUSY_SECONDS = 10.0
IN_MEMORY = ":memory:"

Result = TypeVar("Result")
Work = Callable[[sqlite3.Connection], Result]

_leftovers: list[object] = []  # of a parent process: closing them here could disturb it


class SqliteFile:
    """Runs short pieces of work on the file, each in a transaction; opened, and made, at the first of them."""

    def __init__(self, path: Path | None, *, durable: bool = True) -> None:
        self.place = str(path) if path else IN_MEMORY
        self._path = path
        self._durable = durable
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="toolcrib-store")

    async def read(self, work: Work[Result]) -> Result:
        """What `work` reads, all of it from one moment."""
        return await asyncio.wrap_future(self._submit(work, "BEGIN"))

    async def write(self, work: Work[Result]) -> Result:
        """Let `work` write: kept when this returns, undone when it raises."""
        return await asyncio.wrap_future(self.write_soon(work))

    def write_soon(self, work: Work[Result]) -> "Future[Result]":
        """The same for a thread without an event loop."""
        # IMMEDIATE takes the write lock at the start: a reader that turns writer midway could not wait for its turn.
        return self._submit(work, "BEGIN IMMEDIATE")

    async def outside_transactions(self, *statements: str) -> None:
        """Run statements that SQLite takes in no transaction, such as VACUUM; the file was used before."""

        def run() -> None:
            with translated_errors(self.place):
                for statement in statements:
                    if self._connection is not None:
                        self._connection.execute(statement)

        await asyncio.wrap_future(self._worker.submit(run))

    async def close(self) -> None:
        """Finish what was begun and let go of the file; the next use opens it again."""
        worker, connection = self._worker, self._connection
        self._begin()
        if connection is not None:
            await asyncio.wrap_future(worker.submit(connection.close))
        worker.shutdown(wait=False)

    def _submit(self, work: Work[Result], begin: str) -> "Future[Result]":
        if self._process != os.getpid():  # after a fork: neither the thread nor the connection can be used here
            _leftovers.append((self._worker, self._connection))
            self._begin()
        return self._worker.submit(self._run, work, begin)

    def _run(self, work: Work[Result], begin: str) -> Result:
        with translated_errors(self.place):
            if self._connection is None:
                self._connection = self._open()
            connection = self._connection
            connection.execute(begin)
            try:
                refuse_newer(version_number(connection), self.place)  # another process may have brought it up since
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

    def _open(self) -> sqlite3.Connection:
        fresh = self._path is not None and not self._path.exists()
        if self._path and fresh:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        connection = sqlite3.connect(self.place, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            if self._path and fresh:
                self._path.chmod(0o600)  # conversations are private; SQLite gives its side files the same mode
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
            version_of(connection, self.place)  # a file that is not ours is refused before its journal is changed
            _use_wal(connection)
            migrate(connection, self.place)
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def translated_errors(place: str) -> Generator[None]:
    """What SQLite and the file system complain of, as a `StoreError` that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        code = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the low byte is the kind of error
        problem, hint = _WORDS.get(code, (f"cannot be used ({error})", _ELSEWHERE))
        raise StoreError(f"The session store {place} {problem}.", hint=hint) from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{error.object!r} cannot be kept: it is not Unicode.", hint="Send valid UTF-8.") from error


_ELSEWHERE = "Check the path and its permissions, or name another file with --store or TOOLCRIB_STORE."
_DAMAGED = (
    "is damaged, or no database; it was not touched",
    "Restore it from a backup, or rescue what is readable with: sqlite3 FILE .recover | sqlite3 NEW_FILE",
)
_LOCKED = (f"is locked by another program for more than {BUSY_SECONDS:.0f} s", "Close the other program and try again.")
_WORDS = {
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "Make room, then try again; nothing was lost."),
    sqlite3.SQLITE_READONLY: ("cannot be written", _ELSEWHERE),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", _ELSEWHERE),
}


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch the journal. SQLite does not wait by itself when another process opens the new file at the same moment."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)  # in the worker's thread
