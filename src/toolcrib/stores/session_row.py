"""What is kept of a session, as rows of tables: the same in every store."""

from collections.abc import Iterable
from typing import TypeAlias

from toolcrib.memory.working import WorkingMemory
from toolcrib.stores.json_text import from_text
from toolcrib.stores.moments import moment
from toolcrib.stores.record import Confirmation, LoggedEvent, SessionInfo, SessionRecord

SESSION_COLUMNS = "title, created_at, updated_at, memory, toolbox, usage"
SessionRow: TypeAlias = tuple[str, int, int, str, str, str]
InfoRow: TypeAlias = tuple[str, str, int, int, str, int]
EventRow: TypeAlias = tuple[int, int, str]


def read_session(
    id: str,
    row: SessionRow,
    messages: Iterable[tuple[str]],
    confirmations: tuple[Confirmation, ...],
    events: tuple[LoggedEvent, ...],
) -> SessionRecord:
    """The session that a row holds, in the order of its columns, with what stands in the other tables."""
    title, created_at, updated_at, memory, toolbox, usage = row
    return SessionRecord(
        id=id,
        title=title,
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        memory=WorkingMemory.from_json(from_text(memory, "working memory")),
        toolbox=from_text(toolbox, "toolbox"),
        history=tuple(from_text(text, "message") for (text,) in messages),
        usage=from_text(usage, "usage"),
        confirmations=confirmations,
        events=events,
    )


def read_info(row: InfoRow) -> SessionInfo:
    """What a list of sessions shows: id, title, when it began and changed, usage, number of messages."""
    id, title, created_at, updated_at, usage, messages = row
    return SessionInfo(
        id=id,
        title=title,
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        messages=messages,
        usage=from_text(usage, "usage"),
    )


def read_event(row: EventRow) -> LoggedEvent:
    """An event of the log: its position, its moment, itself."""
    position, at, event = row
    return LoggedEvent(position=position, at=moment(at), event=from_text(event, "event"))
