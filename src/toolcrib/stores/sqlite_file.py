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
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from toolcrib.errors import StoreError
from toolcrib.stores.sqlite_schema import bring_up, refuse_newer, version_number, version_of

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
            with in_our_words(self.place):
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
        with in_our_words(self.place):
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
            bring_up(connection, self.place)
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def in_our_words(place: str) -> Generator[None]:
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
