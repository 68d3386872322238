"""One SQLite file, one connection, one thread that uses it: the event loop never waits for a disk.

The journal is a WAL: readers never block, and a killed process leaves a file that opens as if nothing had happened.
`synchronous` is FULL. A kill -9 would lose nothing with NORMAL either, because what was written is with the operating
system; but after a power cut NORMAL may forget the last commits, and a confirmation that was used would be good again.
The price, one fsync a step, is small beside the model call that the step waited for.

A file in which damage was seen is only read: its journal is not even brought into it. A file that was deleted or
replaced while it was open is let go of, so that nobody is told that something was kept in it.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from toolcrib.errors import StoreDamagedError, StoreError
from toolcrib.stores.sqlite import rows
from toolcrib.stores.sqlite.integrity import as_text, check, columns_of, damaged

# The tables of a SQLite store, as data: each version says what it changes, and a file is brought up step by step.

APPLICATION = 0x54435242  # "TCRB": tells our files from other programs'


@dataclass(frozen=True, slots=True)
class Migration:
    """What one version changed."""

    version: int
    statements: tuple[str, ...]
    fill: Callable[[sqlite3.Connection], None] | None = None  # what statements cannot compute


def _add_counts_and_checksums(connection: sqlite3.Connection) -> None:
    for table in (rows.MESSAGES, rows.EVENTS):  # their positions have no gaps, so one that is missing is seen
        gap = f"SELECT 1 FROM {table.name} GROUP BY tenant, session HAVING count(*) <> max(position) + 1"
        if connection.execute(gap).fetchone():
            raise damaged(connection, f"rows of {table.name!r} are missing")
    for table in (rows.MESSAGES, rows.EVENTS, rows.CONFIRMATIONS, rows.CALLS):
        count = f"SELECT count(*) FROM {table.name} AS one WHERE one.tenant = sessions.tenant AND session = sessions.id"
        connection.execute(f"UPDATE sessions SET {table.name.removesuffix('s')}_count = ({count})")
    for table in (rows.MESSAGES, rows.EVENTS, rows.CONFIRMATIONS, rows.CALLS, rows.LEASES, rows.SESSIONS):
        table.add_checksums(connection)


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
    Migration(
        4,
        (
            *(
                f"ALTER TABLE sessions ADD COLUMN {one}_count INTEGER NOT NULL DEFAULT 0"
                for one in ("message", "event", "confirmation", "call")
            ),
            *(
                f"ALTER TABLE {table} ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0"
                for table in ("sessions", "messages", "events", "confirmations", "calls", "leases")
            ),
        ),
        _add_counts_and_checksums,
    ),
)
CURRENT = MIGRATIONS[-1].version


def migrate(connection: sqlite3.Connection, place: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Migrate a file to the newest version, or leave it untouched. Safe when several processes do so at once."""
    if version_of(connection, place) == migrations[-1].version:
        return
    connection.execute("BEGIN IMMEDIATE")  # the others wait here, and then find that all is done
    try:
        held = version_of(connection, place)
        for migration in migrations:
            if migration.version > held:
                for statement in migration.statements:
                    connection.execute(statement)
                if migration.fill is not None:
                    migration.fill(connection)
                connection.execute(f"PRAGMA user_version = {migration.version}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def version_of(connection: sqlite3.Connection, place: str) -> int:
    """The version of a file that is ours, 0 when it is new; refuses what is newer than we are, damaged, or not ours."""
    version = version_number(connection)
    columns = columns_of(connection)
    if not version and not columns:
        return 0
    is_ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
    if not is_ours and not columns.keys() >= {"sessions", "messages", "leases", "confirmations"}:
        raise StoreError(
            f"{place} is a database of another program; it was not touched.",
            hint="Name another file with --store or TOOLCRIB_STORE.",
            public="The session store is a database of another program; it was not touched.",
        )
    if not (is_ours and 0 < version < CURRENT + 1_000):
        raise StoreDamagedError(place, "its header says that it is something else")
    refuse_newer(version, place)
    if any(columns.get(table) != expected for table, expected in _columns_at(version).items()):
        raise StoreDamagedError(place, f"its tables are not those of form {version}")
    return version


@lru_cache
def _columns_at(version: int) -> dict[str, list[str]]:
    with closing(sqlite3.connect(IN_MEMORY, isolation_level=None)) as connection:
        for statement in (one for migration in MIGRATIONS[:version] for one in migration.statements):
            connection.execute(statement)
        return columns_of(connection)


def version_number(connection: sqlite3.Connection) -> int:
    """The version number in the file."""
    return connection.execute("PRAGMA user_version").fetchone()[0]


def refuse_newer(version: int, place: str) -> None:
    """Raise an error if a newer version of Toolcrib wrote the file."""
    if version > CURRENT:
        raise StoreError(
            f"{place} was written by a newer Toolcrib (form {version}; this one knows forms up to {CURRENT}). "
            "It was not touched.",
            hint="Update Toolcrib: pip install --upgrade toolcrib",
            public="The session store was written by a newer Toolcrib. It was not touched.",
        )


BUSY_SECONDS = 10.0
IN_MEMORY = ":memory:"

Result = TypeVar("Result")
Work = Callable[[sqlite3.Connection], Result]

_leftovers: list[object] = []  # of a parent process: closing them here could disturb it


class SqliteFile:
    """Runs short pieces of work on the file, each in a transaction; opened, and made, at the first of them."""

    def __init__(self, path: Path | None, *, durable: bool = True, rescue: bool = False) -> None:
        """With `rescue` the file is read however damaged it is; only its rows are checked."""
        self.place = str(path) if path else IN_MEMORY
        self._path = path
        self._durable = durable
        self._rescue = rescue
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._only_reads = False
        self._opened: tuple[int | None, int | None] | None = None  # which file that was
        self._damage: StoreDamagedError | None = None
        self._when_damaged: tuple[int, ...] | None = None  # what the file looked like then
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="toolcrib-store")

    async def read(self, work: Work[Result]) -> Result:
        """The result of `work`, which reads in one transaction."""
        return await asyncio.wrap_future(self._submit(work, writes=False))

    async def write(self, work: Work[Result]) -> Result:
        """Let `work` write in one transaction: durable when this returns, rolled back when it raises."""
        return await asyncio.wrap_future(self.write_soon(work))

    def write_soon(self, work: Work[Result]) -> "Future[Result]":
        """The same for a thread without an event loop."""
        return self._submit(work, writes=True)

    async def outside_transactions(self, *statements: str) -> None:
        """Run statements that SQLite takes in no transaction, such as VACUUM; the file was used before."""

        def run() -> None:
            with translated_errors(self.place):
                for statement in statements:
                    if self._connection is not None:
                        self._connection.execute(statement)

        await asyncio.wrap_future(self._worker.submit(run))

    async def close(self) -> None:
        """Finish pending work and close the file; the next use opens it again."""
        worker, connection = self._worker, self._connection
        self._begin()
        if connection is not None:
            await asyncio.wrap_future(worker.submit(connection.close))
        worker.shutdown(wait=False)

    def _submit(self, work: Work[Result], *, writes: bool) -> "Future[Result]":
        if self._process != os.getpid():  # after a fork: neither the thread nor the connection can be used here
            _leftovers.append((self._worker, self._connection))
            self._begin()
        return self._worker.submit(self._run, work, writes)

    def _run(self, work: Work[Result], writes: bool) -> Result:
        try:
            with translated_errors(self.place):
                connection = self._connected(writes)
                # IMMEDIATE takes the write lock now: a reader that turns writer midway could not wait for its turn.
                connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
                try:
                    refuse_newer(version_number(connection), self.place)  # another process may have brought it up since
                    result = work(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
                if writes:
                    self._refuse_if_gone()
                return result
        except StoreDamagedError as damage:
            if self._path is not None:
                self._stop_writing(damage)
            raise

    def _connected(self, writes: bool) -> sqlite3.Connection:
        """The connection, for reading or for writing."""
        self._refuse_if_gone()
        if self._damage is not None and self._look() != self._when_damaged:  # somebody put another file there
            self._let_go()
        if self._damage is not None and (writes or self._connection is None):
            raise StoreDamagedError(self._damage.place, self._damage.what)
        if self._connection is None:
            self._connection = self._open()
            self._opened = self._identities()
        if writes and self._only_reads:
            raise _unusable(self.place, "cannot be written: it is read-only", _ELSEWHERE)
        return self._connection

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self.place)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def _identities(self) -> tuple[int | None, int | None]:
        """Which file this is, and which its journal."""
        return _number_of(self.place), _number_of(f"{self.place}-wal")

    def _refuse_if_gone(self) -> None:
        """Refuse to go on with a file that nobody finds any more; what stands in its place is opened next time."""
        if self._path is None or self._opened is None:
            return
        number, wal = self._identities()
        if number == self._opened[0]:
            return
        # The old file's journal must not come into the new one.
        if number is not None and (wal is None or wal != self._opened[1]):
            self._let_go()
        problem = "was deleted or replaced while it was open; nothing is kept in it"
        hint = "Put the file back. Or stop what uses it, remove what is left of it (-wal, -shm), and start again."
        raise _unusable(self.place, problem, hint)

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()  # SQLite leaves the side files alone if the file has moved
        self._connection, self._damage, self._only_reads, self._opened = None, None, False, None

    def _stop_writing(self, damage: StoreDamagedError) -> None:
        """Keep the file as it is: a connection that only reads takes the place of ours."""
        if self._damage is not None:
            return
        self._damage, self._when_damaged = damage, self._look()
        if self._connection is None or self._only_reads:
            return
        writing, self._connection = self._connection, None
        try:
            reading = connect(self._path, "mode=ro")
            # The last to close a file brings its journal into it. With this one open, ours is not the last, and this
            # one cannot.
            reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error:
            _leftovers.append(writing)  # closing it would write
            return
        self._connection, self._only_reads = reading, True
        writing.close()

    def _open(self) -> sqlite3.Connection:
        is_there = self._path is None or self._path.exists()
        if self._path is not None and self._path.is_file():
            reading = self._checked(self._path)
            if reading is not None:
                self._only_reads = True
                return reading
        if self._path and not is_there:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        connection = self._connect()
        try:
            if self._path and not is_there:
                self._path.chmod(0o600)  # conversations are private; SQLite gives its side files the same mode
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA cell_size_check = ON")  # damaged pages are found when they are read
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
            version_of(connection, self.place)  # a file that is not ours is refused before its journal is changed
            _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
            migrate(connection, self.place)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> sqlite3.Connection:
        return connect(self._path)

    def _checked(self, path: Path) -> sqlite3.Connection | None:
        """Look whether the file is whole, by a connection that cannot write; given back where nobody can write."""
        try:
            reading = connect_to_read(path)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _NOT_FOR_READERS:
                raise
            with closing(self._connect()) as writing:  # a journal is left that a reader may not bring in
                _check(writing, self.place)
            return None
        try:
            if not self._rescue:
                _patiently(lambda: _check(reading, self.place))
            if self._rescue or not _may_write(path):
                return _brought_up(reading, self.place)
        except BaseException:
            reading.close()
            raise
        reading.close()
        return None


_NOT_FOR_READERS = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def connect(path: Path | None, parameters: str = "") -> sqlite3.Connection:
    """A connection whose transactions we begin and end."""
    place = f"{path.absolute().as_uri()}?{parameters}" if path and parameters else str(path or IN_MEMORY)
    connection = sqlite3.connect(
        place, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=bool(parameters)
    )
    connection.text_factory = as_text
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, also to a file on a disk that nobody can write."""
    reading = connect(path, "mode=ro")
    try:
        _patiently(lambda: reading.execute("SELECT count(*) FROM sqlite_master").fetchone())
    except sqlite3.OperationalError as error:
        reading.close()
        if error.sqlite_errorcode & 0xFF not in _NOT_FOR_READERS or _may_write(path):
            raise
    else:
        return reading
    # Locks and side files cannot be made there, and are not needed: nobody changes the file.
    wal = Path(f"{path}-wal")
    if wal.exists() and wal.stat().st_size:
        problem = "cannot be read here: it was not closed, and the disk is read-only"
        raise _unusable(str(path), problem, f"Copy it together with {wal.name!r} to a place that can be written.")
    return connect(path, "mode=ro&immutable=1")


def _check(connection: sqlite3.Connection, place: str) -> None:
    if version_of(connection, place):
        check(connection)


def _brought_up(reading: sqlite3.Connection, place: str) -> sqlite3.Connection:
    """The connection, or, for an older form, one to a copy that is brought up and goes with the connection."""
    if version_number(reading) == CURRENT:
        return reading
    copy = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    copy.text_factory = as_text
    with closing(reading):
        reading.backup(copy)
    migrate(copy, place)
    return copy


def _number_of(place: str) -> int | None:
    try:
        return os.stat(place).st_ino
    except OSError:
        return None


def _may_write(path: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return all(os.access(one, os.W_OK, effective_ids=effective) for one in (path, path.parent))


@contextmanager
def translated_errors(place: str) -> Generator[None]:
    """Translate errors of SQLite and the file system to a `StoreError` that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        code = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the low byte is the kind of error
        text = str(error)
        if code in _DAMAGED or (code == sqlite3.SQLITE_ERROR and text.startswith(_OF_OTHER_TABLES)):
            raise StoreDamagedError(place, text) from error
        if getattr(error, "sqlite_errorcode", -1) == sqlite3.SQLITE_READONLY and _may_write(Path(place)):
            raise StoreDamagedError(place, "its header says that nobody may write") from error
        problem, hint = _WORDS.get(code, (f"cannot be used ({error})", _ELSEWHERE))
        raise _unusable(place, problem, hint) from error
    except UnicodeDecodeError as error:  # in SQLite's own words, which quote the file
        raise StoreDamagedError(place, "its tables cannot be read") from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{error.object!r} cannot be kept: it is not Unicode.", hint="Send valid UTF-8.") from error
    except OverflowError as error:
        raise StoreError(f"A number cannot be kept: {error}.", hint="Give numbers of at most 64 bits.") from error


def _unusable(place: str, problem: str, hint: str) -> StoreError:
    # An error of the file system, in brackets, quotes the path.
    public = f"The session store {problem.partition(' (')[0]}."
    return StoreError(f"The session store {place} {problem}.", hint=hint, public=public)


_ELSEWHERE = "Check the path and its permissions, or name another file with --store or TOOLCRIB_STORE."
_LOCKED = (f"is locked by another program for more than {BUSY_SECONDS:.0f} s", "Close the other program and try again.")
# Our statements fit our tables and our keys are new: when they do not, the file is not what we wrote.
_DAMAGED = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_TOOBIG,
    }
)
_OF_OTHER_TABLES = ("no such", "unsupported file format", "foreign key mismatch")
_WORDS = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "Make room, then try again; nothing was lost."),
    sqlite3.SQLITE_IOERR: ("cannot be used: the disk reports an error", "Look into the system's log, then try again."),
    sqlite3.SQLITE_READONLY: ("cannot be written", _ELSEWHERE),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", _ELSEWHERE),
}


def _patiently(work: Callable[[], object]) -> None:
    """SQLite does not always wait by itself, such as when another process opens the new file at the same moment."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            work()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)  # in the worker's thread
