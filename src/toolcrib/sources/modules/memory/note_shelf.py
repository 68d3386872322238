"""Notes as an index wants to see them: as tools that come and go. None of them can be called."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
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
    """The notes as they were when last looked at; tells its followers what changed since.

    Here a note has a label that says nothing: the letters of an id are dice, and an index would read them as words.
    """

    def __init__(self) -> None:
        self._notes: dict[str, Note] = {}
        self._fresh = (f"n{number}" for number in count(1))
        self._listeners: list[Callable[[ShelfStep], object]] = []

    @property
    def notes(self) -> Mapping[str, Note]:
        """By label, oldest first."""
        return self._notes

    def follow(self, notes: Sequence[Note]) -> None:
        """Take over what the store holds now."""
        labels = {note.id: label for label, note in self._notes.items()}
        now = {labels.get(note.id) or next(self._fresh): note for note in notes}
        gone = [label for label in self._notes if label not in now]
        new = [_as_tool(label, note) for label, note in now.items() if label not in self._notes]
        self._notes = now
        if gone or new:
            step = ShelfStep(added=new, removed=gone)
            for listener in self._listeners:
                listener(step)

    def subscribe(self, listener: Callable[[ShelfStep], object], *, replay: bool = False) -> Callable[[], None]:
        """Tell somebody of each change from now on; with `replay` also of what is there already."""
        self._listeners.append(listener)
        if replay:
            listener(ShelfStep(added=[_as_tool(label, note) for label, note in self._notes.items()]))
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
