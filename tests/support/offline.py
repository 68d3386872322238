"""A small app in memory, with tools as people write them, and a talk with the offline brain about it."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from toolcrib import Catalog, Extraction, Risk, ToolResult
from toolcrib.agent.crib import Crib
from toolcrib.agent.events import ToolDiscoveryStart, ToolStarted
from toolcrib.agent.runner import RunResult, collect, confirm, run
from toolcrib.stores.session import Session

NoteId = Annotated[str, Field(description="Id of the note")]


def notes_catalog() -> Catalog:
    """Notes, reminders and a few odds and ends. What they hold is gone with the catalog."""
    catalog = Catalog()
    notes: dict[str, dict[str, Any]] = {
        "n1": {"id": "n1", "title": "Groceries", "text": "milk", "priority": "low"},
        "n2": {"id": "n2", "title": "Holiday plans", "text": "Lisbon", "priority": "high"},
        "n3": {"id": "n3", "title": "Tax", "text": "before May", "priority": "high"},
    }
    one = Extraction(path="$root", type="note", name_field="title")
    many = Extraction(path="notes", type="note", name_field="title", is_array=True)

    @catalog.tool(category="notes", phrases=["list notes", "show all notes", "which notes are there"], extraction=many)
    def list_notes(priority: Literal["low", "high"] | None = None, limit: int = 20) -> dict[str, Any]:
        """List the notes with title and priority."""
        shown = [note for note in notes.values() if priority in (None, note["priority"])]
        return {"notes": shown[:limit]}

    @catalog.tool(category="notes", phrases=["create a note", "new note", "write something down"], extraction=one)
    def create_note(title: str, text: str = "", priority: Literal["low", "high"] = "low") -> dict[str, Any]:
        """Create a note with a title."""
        number = f"n{len(notes) + 1}"
        notes[number] = {"id": number, "title": title, "text": text, "priority": priority}
        return {**notes[number], "summary": f"Created the note {title!r}."}

    @catalog.tool(category="notes", phrases=["update a note", "rename a note", "change the text"], extraction=one)
    def update_note(note: NoteId, title: str | None = None, text: str | None = None) -> dict[str, Any]:
        """Change the title or the text of a note."""
        notes[note] |= {key: value for key, value in (("title", title), ("text", text)) if value is not None}
        return {**notes[note], "summary": f"Updated the note {notes[note]['title']!r}."}

    @catalog.tool(category="notes", phrases=["read a note", "show a note", "what does the note say"], extraction=one)
    def get_note(note: NoteId) -> dict[str, Any]:
        """Read one note with its text."""
        return notes[note]

    @catalog.tool(category="notes", risk=Risk.DESTRUCTIVE, confirm=True, phrases=["delete a note", "remove a note"])
    def delete_note(note: NoteId) -> ToolResult:
        """Delete a note for good."""
        if note not in notes:
            return ToolResult.failure(f"There is no note {note!r}. Did you mean 'n1'?")
        return ToolResult.of(f"Deleted the note {notes.pop(note)['title']!r}.")

    @catalog.tool(category="reminders", phrases=["add a reminder", "remind me", "set an alarm"])
    def add_reminder(note: NoteId, day: Annotated[str, Field(json_schema_extra={"format": "date"})]) -> str:
        """Add a reminder to a note for a day."""
        return f"Will remind of {notes[note]['title']} on {day}."

    @catalog.tool(category="mail", phrases=["send an e-mail", "write a mail", "mail somebody"])
    def send_mail(to: str, subject: str, body: str = "", copies: int = 1) -> dict[str, Any]:
        """Send an e-mail."""
        return {"to": to, "subject": subject, "body": body, "copies": copies}

    @catalog.tool(category="weather", phrases=["weather forecast", "how is the weather", "will it rain"])
    def get_weather(city: str, days: int = 1, detailed: bool = False) -> str:
        """Tell the weather of a city."""
        return f"Sunny in {city} for {days} days{', in detail' if detailed else ''}."

    @catalog.tool(category="files", phrases=["grep file contents", "search inside files", "find text in files"])
    def grep_files(pattern: str, path: str = ".", ignore_case: bool = False) -> list[str]:
        """Search the contents of files for a pattern and list the lines that match."""
        return []

    @catalog.tool(category="web", phrases=["fetch a web page", "download an address", "read a url"])
    def fetch_page(url: str) -> str:
        """Fetch a web page as text."""
        raise ConnectionError(f"{url} does not answer")

    return catalog


class Talk:
    """A session with the offline brain."""

    def __init__(self, session: Session, catalog: Catalog, **options: Any) -> None:
        self.session = session
        self.catalog = catalog
        self.crib = Crib(catalog, clock=lambda: datetime(2026, 5, 4, tzinfo=UTC), **options)
        self.last: RunResult = RunResult(answer="", events=())

    async def say(self, text: str) -> str:
        """The brain's answer."""
        self.last = await run(self.session, text, crib=self.crib)
        assert self.last.failed is None, self.last.failed
        return self.last.answer

    async def press(self, approved: bool) -> str:
        """The answer after a button."""
        question = self.session.confirmations[-1]
        self.last = await collect(confirm(self.session, question.id, approved, crib=self.crib))
        return self.last.answer

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """What was called in the last turn, without discovery."""
        return [(event.name, dict(event.arguments)) for event in self.last.events if isinstance(event, ToolStarted)]

    @property
    def searches(self) -> list[str]:
        """What was searched for in the last turn."""
        return [event.query for event in self.last.events if isinstance(event, ToolDiscoveryStart)]
