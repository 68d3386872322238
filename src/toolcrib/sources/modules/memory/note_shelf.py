"""Notes as an index wants to see them: as tools that come and go. None of them can be called."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib.sources.modules.memory.note import Note
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

_MOST_CHARACTERS = 1_200  # of a note that is searched; what it is about stands in front


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfStep:
    """What changed: first some notes went, then others came."""

    added: Sequence[Tool] = ()
    removed: Sequence[str] = ()


class NoteShelf:
    """The notes as they were when last looked at; tells its followers what changed since."""

    def __init__(self) -> None:
        self._notes: dict[str, Note] = {}
        self._listeners: list[Callable[[ShelfStep], object]] = []

    @property
    def notes(self) -> Mapping[str, Note]:
        """By id, oldest first."""
        return self._notes

    def follow(self, notes: Sequence[Note]) -> None:
        """Take over what the store holds now."""
        now = {note.id: note for note in notes}
        gone = [id for id in self._notes if id not in now]
        new = [_as_tool(note) for id, note in now.items() if id not in self._notes]
        self._notes = now
        if gone or new:
            step = ShelfStep(added=new, removed=gone)
            for listener in self._listeners:
                listener(step)

    def subscribe(self, listener: Callable[[ShelfStep], object], *, replay: bool = False) -> Callable[[], None]:
        """Tell somebody of each change from now on; with `replay` also of what is there already."""
        self._listeners.append(listener)
        if replay:
            listener(ShelfStep(added=[_as_tool(note) for note in self._notes.values()]))
        return lambda: self._listeners.remove(listener)


def _as_tool(note: Note) -> Tool:
    text = f"{note.topic}: {note.text}" if note.topic else note.text
    return Tool(
        name=note.id,
        description=text[:_MOST_CHARACTERS],
        phrases=(note.text[:_MOST_CHARACTERS],),
        category=note.topic,
        call=_not_to_be_called,
        source="note",
    )


async def _not_to_be_called(_arguments: Mapping[str, Any], _context: object = None, /) -> ToolResult:
    return ToolResult.failure("This is a note, not a tool.")
