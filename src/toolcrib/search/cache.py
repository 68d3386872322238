"""Built indexes on disk: a process with the same tools loads in a fraction of a second what takes minutes to build.

A file belongs to one set of tools, by a hash of what an index reads of each, and to one version: of the form, of the
code that reads texts, of the model and the embedder. It is checked before it is used. A file that is damaged or of
something else is told in a warning and removed, and the index is built; where nothing can be stored, the next process
builds it again. Files are written whole and put in place at once, so any number of processes may share a folder.
"""

import hashlib
import logging
import sys
import time
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from toolcrib.search.corpus import Corpus
from toolcrib.search.dense import parameter_texts
from toolcrib.search.embedders.embedder import Embedder
from toolcrib.search.saved import UNFINISHED, UnusableFileError, read_arrays, taken, write_arrays
from toolcrib.tools.tool import Tool

LEAST_TOOLS = 300  # fewer are built in the time that it takes to look for a file
MUCH = 0.1  # of the tools: so many new ones are worth a new file
MOST_GONE = 0.2  # of a file's tools; taking out more takes longer than building the rest
MOST_TRIED = 4  # files of other sets of tools
MOST_FILES, MOST_BYTES = 8, 2 << 30  # in a folder
ABANDONED_SECONDS = 3_600.0  # a file that is still unfinished then belongs to a process that was killed
DIGEST_BYTES = 16
SUFFIX = ".index"

log = logging.getLogger(__name__)


class IndexCache:
    """The built indexes of one embedder in a folder."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self._folder = folder
        self._embedder = embedder
        self._stored_at = 0  # what the corpus had embedded when it was loaded or stored last
        self._warned = False

    def restore(self, corpus: Corpus, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Fill an empty corpus with what was built before; gives the tools that are still to be read."""
        if len(tools) < LEAST_TOOLS:
            return tools
        digests = [text_digest(tool) for tool in tools]
        for path in self._files_for(digests):
            try:
                arrays = read_arrays(path, self._key)
                places = {
                    own.tobytes(): tool_id
                    for tool_id, own in enumerate(taken(arrays, "tools", "uint8", None, DIGEST_BYTES))
                }
                ids = [places.get(digest) for digest in digests]
                corpus.restore(arrays, {id: tool for id, tool in zip(ids, tools, strict=True) if id is not None})
            except FileNotFoundError:
                continue  # another process removed it just now
            except (UnusableFileError, OSError) as error:
                self._refuse(path, error)
            else:
                with suppress(OSError):
                    path.touch()  # used lately: it is among the last to be removed
                return [tool for id, tool in zip(ids, tools, strict=True) if id is None]
        return tools

    def store(self, corpus: Corpus) -> None:
        """Store what was built, if much of it is new since it was loaded or stored."""
        if len(corpus) < LEAST_TOOLS or corpus.embedded - self._stored_at < MUCH * len(corpus):
            return
        self._stored_at = corpus.embedded
        digests = {tool_id: text_digest(tool) for tool_id, tool in corpus}
        held = b"".join(digests.get(tool_id, bytes(DIGEST_BYTES)) for tool_id in range(corpus.id_count))
        table = np.frombuffer(held, dtype=np.uint8).reshape(-1, DIGEST_BYTES)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_arrays(self._path(digests.values()), self._key, {"tools": table, **corpus.saved()})
            self._tidy()
        except OSError as error:
            if not self._warned:
                self._warned = True
                log.warning(
                    "The index cannot be stored in %s (%s): the next start builds it again.", self._folder, error
                )

    @property
    def _key(self) -> str:
        return hashlib.blake2b(
            f"{code_digest()}\0{self._embedder.id}".encode("utf-8", "surrogatepass"), digest_size=16
        ).hexdigest()

    def _path(self, digests: Iterable[bytes]) -> Path:
        tools = hashlib.blake2b(b"".join(sorted(digests)), digest_size=DIGEST_BYTES).hexdigest()
        return self._folder / f"{self._key}-{tools}{SUFFIX}"

    def _files_for(self, digests: Sequence[bytes]) -> list[Path]:
        """The file of just these tools, if there is one, or the one that shares most of them and has few others."""
        exact = self._path(digests)
        if exact.exists():
            return [exact]
        wanted, shared = set(digests), dict[Path, int]()
        for path in newest_first(self._folder.glob(f"{self._key}-*{SUFFIX}"))[:MOST_TRIED]:
            with suppress(UnusableFileError, OSError):  # told when it is the one that is needed
                table = taken(read_arrays(path, self._key, first=1), "tools", "uint8", None, DIGEST_BYTES)
                theirs = {own.tobytes() for own in table} - {bytes(DIGEST_BYTES)}
                common = len(theirs & wanted)
                if common >= len(wanted) / 2 and len(theirs) - common <= MOST_GONE * len(theirs):
                    shared[path] = common
        return sorted(shared, key=lambda path: -shared[path])

    def _refuse(self, path: Path, error: Exception) -> None:
        log.warning("The index in %s is not used (%s): it is built anew.", path, error)
        with suppress(OSError):
            path.unlink()

    def _tidy(self) -> None:
        """Remove what was not used for longest, and what a killed process left behind."""
        size = 0
        for number, path in enumerate(newest_first(self._folder.glob(f"*{SUFFIX}"))):
            with suppress(OSError):
                size += path.stat().st_size
                if number >= MOST_FILES or (number and size > MOST_BYTES):
                    path.unlink()
        for path in self._folder.glob(f"*{UNFINISHED}"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                    path.unlink()


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """Files by when they were last used; without those that are gone."""
    found: list[tuple[float, str, Path]] = []
    for path in paths:
        with suppress(OSError):
            found.append((path.stat().st_mtime, path.name, path))
    return [path for _, _, path in sorted(found, reverse=True)]


def text_digest(tool: Tool) -> bytes:
    """A hash of all that an index reads of a tool."""
    read = (tool.name, tool.description, tool.category, tuple(tool.phrases), parameter_texts(tool.parameters))
    return hashlib.blake2b(repr(read).encode(), digest_size=DIGEST_BYTES).digest()


@cache
def code_digest() -> str:
    """A hash of what decides how texts are read: our code and model, and what they stand on."""
    from importlib.metadata import version  # late: it takes longer to load than a small index takes to build

    digest = hashlib.blake2b(f"{version('toolcrib')} {version('tantivy')} {np.__version__}".encode())
    digest.update(f"{unicodedata.unidata_version} {sys.byteorder}".encode())
    home = Path(__file__).parent
    for path in sorted(path for kind in ("*.py", "*.[ch]", "SHA256SUMS") for path in home.rglob(kind)):
        digest.update(path.relative_to(home).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()
