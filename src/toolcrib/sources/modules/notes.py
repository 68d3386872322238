"""Notes in a file of the work folder: SQLite, so that a crash or a second process loses nothing."""

import asyncio
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from toolcrib.errors import ModuleError, ToolcribError, ToolRefusedError
from toolcrib.sources.modules.workdir import Workdir
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

# What is remembered.


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something worth remembering."""

    id: str  # also fit to be the name of a tool: an index finds notes as if they were tools
    text: str
    topic: str = ""
    created_at: datetime


FILE = ".toolcrib/memory.db"
_BUSY_SECONDS = 5.0
_TABLE = """CREATE TABLE IF NOT EXISTS notes (
    scope TEXT NOT NULL, id TEXT NOT NULL, text TEXT NOT NULL, topic TEXT NOT NULL, created_at TEXT NOT NULL,
    PRIMARY KEY (scope, id)
)"""

Value = TypeVar("Value")


class NoteFile:
    """The notes of one scope; notes of other scopes in the same file are invisible."""

    def __init__(self, workdir: Path, *, scope: str = "") -> None:
        folder = Workdir(workdir, protected=())
        try:
            with folder.place(FILE, writing=True, make_folders=True) as place:
                self._path = folder.root / place.path
        except ToolcribError as error:
            raise ModuleError(f"Notes cannot be kept in the work folder: {error}", hint=error.hint) from error
        self._scope = scope

    async def load(self) -> Sequence[Note]:
        rows = await self._run(
            lambda opened: opened.execute(
                "SELECT id, text, topic, created_at FROM notes WHERE scope = ? ORDER BY rowid", [self._scope]
            ).fetchall()
        )
        return [
            Note(id=id, text=text, topic=topic, created_at=datetime.fromisoformat(made))
            for id, text, topic, made in rows
        ]

    async def add(self, note: Note) -> None:
        row = [self._scope, note.id, note.text, note.topic, note.created_at.isoformat()]
        await self._run(lambda opened: opened.execute("INSERT INTO notes VALUES (?, ?, ?, ?, ?)", row))

    async def remove(self, id: str) -> None:
        await self._run(
            lambda opened: opened.execute("DELETE FROM notes WHERE scope = ? AND id = ?", [self._scope, id])
        )

    async def _run(self, work: Callable[[sqlite3.Connection], Value]) -> Value:
        def done() -> Value:
            with self._opened() as opened:
                return work(opened)

        return await asyncio.to_thread(done)

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        """One transaction, with a new connection each time: a connection belongs to one thread."""
        try:
            opened = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
            try:
                with opened:
                    opened.execute(_TABLE)
                    yield opened
            finally:
                opened.close()
        except sqlite3.Error as error:
            raise ToolRefusedError(f"The notes cannot be reached: {error}.", hint="Tell the user.") from error


# Notes in the form that an index expects: as tools of a feed. None of them can be called.

_MOST_CHARACTERS = 1_200  # of a note that is searched; what it is about stands in front


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteChange:
    """A change of the notes: first removals, then additions."""

    added: Sequence[Tool] = ()
    removed: Sequence[str] = ()


class NoteFeed:
    """The notes as of the last update, as a feed that tells an index what changed. A note has a neutral label here: the
    letters of an id are random, and an index would read them as words.
    """

    def __init__(self) -> None:
        self._notes: dict[str, Note] = {}
        self._fresh = (f"n{number}" for number in count(1))
        self._listeners: list[Callable[[NoteChange], object]] = []

    @property
    def notes(self) -> Mapping[str, Note]:
        """By label, oldest first."""
        return self._notes

    def follow(self, notes: Sequence[Note]) -> None:
        """Update to the current notes of the store."""
        labels = {note.id: label for label, note in self._notes.items()}
        now = {labels.get(note.id) or next(self._fresh): note for note in notes}
        gone = [label for label in self._notes if label not in now]
        new = [_as_tool(label, note) for label, note in now.items() if label not in self._notes]
        self._notes = now
        if gone or new:
            change = NoteChange(added=new, removed=gone)
            for listener in self._listeners:
                listener(change)

    def subscribe(self, listener: Callable[[NoteChange], object], *, replay: bool = False) -> Callable[[], None]:
        """Call a listener with each change from now on; with `replay` also with the present notes."""
        self._listeners.append(listener)
        if replay:
            listener(NoteChange(added=[_as_tool(label, note) for label, note in self._notes.items()]))
        return lambda: self._listeners.remove(listener)


def _as_tool(label: str, note: Note) -> Tool:
    text = f"{note.topic}: {note.text}" if note.topic else note.text
    return Tool(
        name=label,
        description=text[:_MOST_CHARACTERS],
        phrases=(note.text[:_MOST_CHARACTERS],),
        category=note.topic,
        call=_not_to_be_called,
        source="note",
    )


async def _not_to_be_called(_arguments: Mapping[str, Any], _context: object = None, /) -> ToolResult:
    return ToolResult.failure("This is a note, not a tool.")


# The two interfaces of the module: where notes are kept, and how they are found.


class NoteStore(Protocol):
    """Where notes are kept: those of one app, session or user, as its maker decided."""

    async def load(self) -> Sequence[Note]:
        """All notes, oldest first."""
        ...

    async def add(self, note: Note) -> None:
        """Store a note; when this returns, it is stored."""
        ...

    async def remove(self, id: str) -> None:
        """Remove a note."""
        ...


class Ranked(Protocol):
    """A note that was found, by its id."""

    @property
    def name(self) -> str: ...


class FoundNotes(Protocol):
    """The result of a finder, best first; empty when no note fits."""

    @property
    def hits(self) -> Sequence[Ranked]: ...


class NoteFinder(Protocol):
    """Finds notes of the feed that it was made for."""

    def search(self, query: str, *, limit: int = 5) -> FoundNotes: ...


# Such as `ToolIndex`: it follows the feed as it follows a catalog.
FinderFactory: TypeAlias = Callable[[NoteFeed], NoteFinder]


# Finds notes by their words, where no index was given.

_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class WordHit:
    """A note that shares words with a question."""

    name: str
    score: float


@dataclass(frozen=True, slots=True)
class WordHits:
    """Such notes, best first."""

    hits: Sequence[WordHit]


class WordFinder:
    """The notes that share the most words with a question."""

    def __init__(self, feed: NoteFeed) -> None:
        self._feed = feed

    def search(self, query: str, *, limit: int = 5) -> WordHits:
        asked = set(_words(query))
        hits = [
            WordHit(label, len(shared) / len(asked))
            for label, note in self._feed.notes.items()
            if (shared := asked & set(_words(f"{note.topic} {note.text}")))
        ]
        return WordHits(sorted(hits, key=lambda hit: -hit.score)[:limit])


def _words(text: str) -> Iterator[str]:
    """The words of a text without case, accents and endings, which is where words change most."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    return (word[:5] for word in _WORD.findall(plain.casefold()))
