"""A cache for any embedder: a text that was embedded once is never sent to a slow model again."""

import hashlib
import logging
import os
import re
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, Protocol, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from toolcrib.errors import EmbedderError
from toolcrib.search.embedders.embedder import Embedder, unit_vectors
from toolcrib.search.kernels.rows import Vectors

# The file with the vectors of one embedder: SQLite, so that threads and processes may share it.

FORMAT = 1
BUSY_SECONDS = 10.0
KEYS_PER_SELECT = 500  # SQLite allows 999 at least
BROKEN = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH})
OCCUPIED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

log = logging.getLogger(__name__)
Vector = NDArray[np.float32]
Result = TypeVar("Result")


class VectorFile:
    """Vectors by key, for one embedder, whose id is stored in the file and checked at each use."""

    def __init__(self, path: Path, embedder_id: str) -> None:
        self.path = path
        self._embedder_id = embedder_id.encode("utf-8", "backslashreplace").decode("utf-8")  # as SQLite can hold it
        self._warned = False

    def get(self, keys: Collection[bytes]) -> dict[bytes, Vector]:
        """The vectors that the file has, by key, without damaged ones."""

        def read(connection: sqlite3.Connection) -> dict[bytes, Vector]:
            wanted, found = list(keys), dict[bytes, Vector]()
            for start in range(0, len(wanted), KEYS_PER_SELECT):
                some = wanted[start : start + KEYS_PER_SELECT]
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
        """Store these vectors, all or none of them."""
        blobs = {key: vector.astype("<f4").tobytes() for key, vector in vectors.items()}
        rows = [(key, blob, _checksum(key, blob)) for key, blob in blobs.items()]

        def write(connection: sqlite3.Connection) -> None:
            with _transaction(connection):
                connection.executemany("INSERT OR REPLACE INTO vectors(key, vector, checksum) VALUES (?, ?, ?)", rows)

        self._use(write, otherwise=None)

    def dimensions(self) -> int | None:
        """The length of the stored vectors, if there are any."""

        def measure(connection: sqlite3.Connection) -> int | None:
            row = connection.execute("SELECT length(vector) FROM vectors LIMIT 1").fetchone()
            return row[0] // 4 if row else None

        return self._use(measure, otherwise=None)

    def keep_only(self, keys: Collection[bytes]) -> int:
        """Remove all other vectors; returns how many there were."""

        def remove(connection: sqlite3.Connection) -> int:
            with _transaction(connection):
                there = connection.execute("SELECT key FROM vectors").fetchall()
                gone = [row for row in there if row[0] not in keys]
                connection.executemany("DELETE FROM vectors WHERE key = ?", gone)
            return len(gone)

        return self._use(remove, otherwise=0)

    def _use(self, work: Callable[[sqlite3.Connection], Result], *, otherwise: Result) -> Result:
        for _ in range(3):  # as it is, started again, and once more if another process started it again meanwhile
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
                elif seen is None or self._identity() == seen:  # else another process replaced it at the same moment
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
            return  # another process was faster, and the file is new now
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
    """A valid SQLite file of another embedder or version."""


def _checksum(key: bytes, blob: object) -> int:
    return crc32(blob, crc32(key)) if isinstance(blob, bytes) else -1


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Takes the write lock at the start: a reader that turns writer midway could not wait for its turn."""
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.execute("COMMIT")  # what does not get here is rolled back when the connection closes


STORED_AT_ONCE = 1024  # texts after which vectors are stored, so that an interrupted build continues where it stopped

log = logging.getLogger(__name__)


class VectorStore(Protocol):
    """A store for the vectors of one embedder, by the hash of their texts. It loses vectors rather than fail."""

    def get(self, keys: Collection[bytes]) -> dict[bytes, Vector]: ...

    def put(self, vectors: Mapping[bytes, Vector]) -> None: ...

    def dimensions(self) -> int | None: ...

    def keep_only(self, keys: Collection[bytes]) -> int: ...


class CachedEmbedder:
    """Wraps an embedder; documents are kept on disk, the latest queries in memory. Safe under threads and processes.

    Each embedder id has a file of its own in `folder`, so a change of model never mixes vectors. A cache that is
    broken, foreign or not writable is a logged warning, and the texts are embedded as if there were none. In place of
    a folder it takes a store of another kind, such as a `VectorTable` that replicas share.
    """

    def __init__(
        self,
        embedder: Embedder,
        folder: "str | Path | VectorStore",
        *,
        queries_in_memory: int = 1024,
        queries_on_disk: bool = False,
    ) -> None:
        self.embedder = embedder
        self.id = embedder.id
        self.remote = embedder.remote
        self._kept_in = folder
        self._file: VectorStore = (
            VectorFile(Path(folder) / _file_name(self.id), self.id) if isinstance(folder, str | Path) else folder
        )
        self._queries = _Recent(queries_in_memory)
        self._queries_on_disk = queries_on_disk
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """That of the cached vectors; the embedder is asked only when there are none."""
        return self._dimensions or self._file.dimensions() or self.embedder.dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per text; only texts never seen before reach the embedder."""
        vectors = self._through_file("document", texts, self.embedder.embed_documents)
        self._dimensions = vectors.shape[1] or self._dimensions
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One unit vector per request; those asked lately are remembered."""
        found = {text: vector for text in texts if (vector := self._queries.get(_key("query", text))) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            if self._queries_on_disk:
                fresh = self._through_file("query", missing, self.embedder.embed_queries)
            else:
                fresh = _ask(self.embedder.embed_queries, missing, self.id)
            found.update(zip(missing, fresh, strict=True))
        self._same_model_as_documents({len(vector) for vector in found.values()})
        for text in missing:
            self._queries.put(_key("query", text), found[text])
        return _stack([found[text] for text in texts], self._dimensions)

    def prune(self, keep: Iterable[str]) -> int:
        """Remove the vectors of all documents but these, and of all queries; returns their number."""
        return self._file.keep_only({_key("document", text) for text in keep})

    def __repr__(self) -> str:
        kept_in = str(self._kept_in) if isinstance(self._kept_in, Path) else self._kept_in
        return f"CachedEmbedder({self.embedder!r}, {kept_in!r})"

    def _through_file(
        self, kind: Literal["document", "query"], texts: Sequence[str], embed: Callable[[Sequence[str]], Vectors]
    ) -> Vectors:
        wanted = {_key(kind, text): text for text in texts}
        known = self._file.get(wanted) if wanted else {}
        missing = [key for key in wanted if key not in known]
        for start in range(0, len(missing), STORED_AT_ONCE):
            keys = missing[start : start + STORED_AT_ONCE]
            known.update(self._embed_and_keep({key: wanted[key] for key in keys}, embed))
        if len({len(vector) for vector in known.values()}) > 1:
            log.warning("%s changed the length of its vectors: all of them are embedded again.", self.id)
            self._file.keep_only(())
            known = self._embed_and_keep(wanted, embed)
        return _stack([known[_key(kind, text)] for text in texts], self._dimensions)

    def _embed_and_keep(
        self, texts: dict[bytes, str], embed: Callable[[Sequence[str]], Vectors]
    ) -> dict[bytes, Vector]:
        fresh = dict(zip(texts, _ask(embed, list(texts.values()), self.id), strict=True))
        self._file.put(fresh)
        return fresh

    def _same_model_as_documents(self, lengths: set[int]) -> None:
        expected = self._dimensions = self._dimensions or self._file.dimensions()
        if lengths and expected is not None and lengths != {expected}:
            self._file.keep_only(())
            self._queries.clear()
            self._dimensions = None
            raise EmbedderError(
                f"{self.id} gave a query {max(lengths)} dimensions, but its documents have {expected}: "
                "another model answers under the same name.",
                hint="Build the index again; the cached vectors were dropped.",
            )


class _Recent:
    """An LRU cache of vectors."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[bytes, Vector] = OrderedDict()
        self._changing = threading.Lock()

    def get(self, key: bytes) -> Vector | None:
        with self._changing:
            if key in self._vectors:
                self._vectors.move_to_end(key)
            return self._vectors.get(key)

    def put(self, key: bytes, vector: Vector) -> None:
        with self._changing:
            self._vectors[key] = vector
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)

    def clear(self) -> None:
        with self._changing:
            self._vectors.clear()


def _ask(embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str], source: str) -> Vectors:
    return unit_vectors(list(embed(texts)), count=len(texts), dimensions=None, source=source)


def _stack(vectors: Sequence[Vector], dimensions: int | None) -> Vectors:
    return np.stack(vectors) if vectors else np.zeros((0, dimensions or 0), dtype=np.float32)


def _key(kind: Literal["document", "query"], text: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()


def _file_name(embedder_id: str) -> str:
    """A readable name that is safe on every file system; the digest makes it unique."""
    readable = re.sub(r"[^a-z0-9]+", "-", embedder_id.lower()).strip("-")[:48]
    digest = hashlib.sha256(embedder_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{readable}-{digest}.vectors"
