"""The file in which the vectors of one embedder are kept: SQLite, so that threads and processes may share it.

It is a cache and behaves like one: a file that is broken or somebody else's is set aside and begun anew, a folder that
cannot be written keeps nothing, and both are a warning, never an error. Each use opens and closes the file: no handle
outlives a fork, and a rollback journal (not WAL) lets a read-only copy, as in a container image, still be read.
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

FORMAT = 1
BUSY_SECONDS = 10.0
KEYS_PER_QUESTION = 500  # SQLite allows 999 at least
BROKEN = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH})
OCCUPIED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

log = logging.getLogger(__name__)
Vector = NDArray[np.float32]
Result = TypeVar("Result")


class VectorFile:
    """Vectors by key, for one embedder, whose id stands in the file and is checked at each use."""

    def __init__(self, path: Path, embedder_id: str) -> None:
        self.path = path
        self._embedder_id = embedder_id.encode("utf-8", "backslashreplace").decode("utf-8")  # as SQLite can hold it
        self._warned = False

    def get(self, keys: Collection[bytes]) -> dict[bytes, Vector]:
        """The vectors that are there, by key; one that was damaged counts as not there."""

        def read(connection: sqlite3.Connection) -> dict[bytes, Vector]:
            asked, found = list(keys), dict[bytes, Vector]()
            for start in range(0, len(asked), KEYS_PER_QUESTION):
                some = asked[start : start + KEYS_PER_QUESTION]
                marks = ",".join("?" * len(some))
                rows = connection.execute(f"SELECT key, vector, checksum FROM vectors WHERE key IN ({marks})", some)
                found.update(
                    (key, np.frombuffer(vector, dtype="<f4").astype(np.float32))
                    for key, vector, checksum in rows
                    if checksum == _checksum(key, vector)
                )
            return found

        return self._use(read, otherwise={})

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keeps these vectors, all or none of them."""
        blobs = {key: vector.astype("<f4").tobytes() for key, vector in vectors.items()}
        rows = [(key, blob, _checksum(key, blob)) for key, blob in blobs.items()]

        def write(connection: sqlite3.Connection) -> None:
            with _transaction(connection):
                connection.executemany("INSERT OR REPLACE INTO vectors(key, vector, checksum) VALUES (?, ?, ?)", rows)

        self._use(write, otherwise=None)

    def dimensions(self) -> int | None:
        """The length of the vectors kept, if there are any."""

        def measure(connection: sqlite3.Connection) -> int | None:
            row = connection.execute("SELECT length(vector) FROM vectors LIMIT 1").fetchone()
            return row[0] // 4 if row else None

        return self._use(measure, otherwise=None)

    def keep_only(self, keys: Collection[bytes]) -> int:
        """Removes every other vector and says how many those were."""

        def remove(connection: sqlite3.Connection) -> int:
            with _transaction(connection):
                there = connection.execute("SELECT key FROM vectors").fetchall()
                gone = [row for row in there if row[0] not in keys]
                connection.executemany("DELETE FROM vectors WHERE key = ?", gone)
            return len(gone)

        return self._use(remove, otherwise=0)

    def _use(self, work: Callable[[sqlite3.Connection], Result], *, otherwise: Result) -> Result:
        for _ in range(3):  # as it is, begun anew, and once more if another process began it anew meanwhile
            seen = self._identity()
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
                    self._prepare(connection)
                    return work(connection)
            except _ForeignFileError as error:
                self._set_aside(seen, str(error))
            except (sqlite3.Error, OSError) as error:
                code = getattr(error, "sqlite_errorcode", -1) & 0xFF  # the low byte is the kind of error
                if code in BROKEN:
                    self._set_aside(seen, str(error))
                elif code in OCCUPIED:
                    break
                elif seen is None or self._identity() == seen:  # else another process began it anew under our hands
                    self._warn(f"The vector cache {self.path} cannot be used ({error}): texts are embedded again.")
                    break
        return otherwise

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA synchronous = NORMAL")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            connection.execute("PRAGMA auto_vacuum = FULL")  # the file shrinks when vectors are removed
            with _transaction(connection):
                connection.execute("CREATE TABLE IF NOT EXISTS about(format INTEGER PRIMARY KEY, embedder TEXT)")
                connection.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (FORMAT, self._embedder_id))
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors(key BLOB PRIMARY KEY, vector BLOB, checksum INTEGER)"
                )
        if connection.execute("SELECT format, embedder FROM about").fetchall() != [(FORMAT, self._embedder_id)]:
            raise _ForeignFileError("it belongs to another embedder or version")

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _set_aside(self, seen: tuple[int, int] | None, reason: str) -> None:
        if seen is None or self._identity() != seen:
            return  # somebody else was faster, and what is there now is new
        aside = self.path.with_suffix(".broken")
        log.warning("The vector cache %s is begun anew: %s. The old file is now %s.", self.path, reason, aside.name)
        try:
            os.replace(self.path, aside)
            self.path.with_name(self.path.name + "-journal").unlink(missing_ok=True)
        except OSError as error:
            self._warn(f"The broken vector cache {self.path} cannot be moved ({error}): texts are embedded again.")

    def _warn(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            log.warning(message)


class _ForeignFileError(Exception):
    """A sound SQLite file that is not ours."""


def _checksum(key: bytes, blob: object) -> int:
    return crc32(blob, crc32(key)) if isinstance(blob, bytes) else -1


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Takes the write lock at the start: a reader that turns writer midway could not wait for its turn."""
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.execute("COMMIT")  # what does not get here is rolled back when the connection closes
