"""The two seams of the module: where notes are kept, and how they are found."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from toolcrib.sources.modules.memory.note import Note
from toolcrib.sources.modules.memory.note_shelf import NoteShelf


class NoteStore(Protocol):
    """Where notes are kept; those of one app, session or user, as whoever made it decided."""

    async def load(self) -> Sequence[Note]:
        """All notes, oldest first."""
        ...

    async def add(self, note: Note) -> None:
        """Keep a note; when this returns, it is kept."""
        ...

    async def remove(self, id: str) -> None:
        """Forget a note."""
        ...


class Ranked(Protocol):
    """A note that was found, by its id."""

    @property
    def name(self) -> str: ...


class FoundNotes(Protocol):
    """What a finder gives, best first; nothing when no note fits."""

    @property
    def hits(self) -> Sequence[Ranked]: ...


class NoteFinder(Protocol):
    """Finds notes on the shelf it was made for."""

    def search(self, query: str, *, limit: int = 5) -> FoundNotes: ...


# Such as `ToolIndex`: it follows a shelf as it follows a catalogue.
FinderFactory: TypeAlias = Callable[[NoteShelf], NoteFinder]
