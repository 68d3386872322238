"""Notes in a file of the work folder: SQLite, so that a crash or a second process loses nothing."""

import asyncio
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from toolcrib.errors import ModuleError, ToolcribError, ToolRefusedError
from toolcrib.sources.modules.memory.note import Note
from toolcrib.sources.modules.workdir.workdir import Workdir

FILE = ".toolcrib/memory.db"
_BUSY_SECONDS = 5.0
_TABLE = """CREATE TABLE IF NOT EXISTS notes (
    scope TEXT NOT NULL, id TEXT NOT NULL, text TEXT NOT NULL, topic TEXT NOT NULL, created_at TEXT NOT NULL,
    PRIMARY KEY (scope, id)
)"""

Value = TypeVar("Value")


class NoteFile:
    """The notes of one scope; notes of other scopes in the same file are out of sight."""

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
        """One transaction. Opened anew each time: a connection belongs to one thread."""
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
