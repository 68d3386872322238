"""Between rows and values: every query of a SQLite store, each of them for one tenant."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from toolcrib.errors import UnknownSessionError
from toolcrib.stores.record import (
    CALL_COLUMNS,
    COLUMNS,
    SESSION_COLUMNS,
    BegunCall,
    Confirmation,
    Json,
    LoggedEvent,
    Refusal,
    Resolution,
    SessionInfo,
    SessionRecord,
    Step,
    call_row,
    confirmation_row,
    microseconds,
    read_confirmation,
    read_event,
    read_info,
    read_session,
    refusal_of,
    to_text,
)


def insert_session(connection: sqlite3.Connection, tenant: str, record: SessionRecord) -> None:
    """A whole session, as it was read from a store, or a new one."""
    connection.execute(
        "INSERT INTO sessions (tenant, id, title, created_at, updated_at, memory, toolbox, usage, fence)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            tenant,
            record.id,
            record.title,
            microseconds(record.created_at),
            microseconds(record.updated_at),
            to_text(record.memory.to_json(), "working memory"),
            to_text(record.toolbox, "toolbox"),
            to_text(dict(record.usage), "usage"),
            record.fence,
        ),
    )
    _insert_messages(connection, tenant, record.id, 0, record.history)
    for confirmation in record.confirmations:
        insert_confirmation(connection, tenant, record.id, confirmation)
    _insert_events(connection, tenant, record.id, record.events)
    for call in record.calls:
        insert_call(connection, tenant, record.id, call)


def insert_step(connection: sqlite3.Connection, tenant: str, session: str, step: Step, now: datetime) -> None:
    """What a step adds to a session, and what it changes."""
    _insert_messages(connection, tenant, session, _end_of(connection, "messages", tenant, session), step.messages)
    start = _end_of(connection, "events", tenant, session) if step.events else 0
    events = (LoggedEvent(position=place, at=now, event=event) for place, event in enumerate(step.events, start))
    _insert_events(connection, tenant, session, events)
    connection.execute(
        "UPDATE sessions SET updated_at = max(updated_at, ?), title = coalesce(?, title),"
        " memory = coalesce(?, memory), toolbox = coalesce(?, toolbox), usage = coalesce(?, usage)"
        " WHERE tenant = ? AND id = ?",
        (
            microseconds(now),
            step.title,
            None if step.memory is None else to_text(step.memory.to_json(), "working memory"),
            None if step.toolbox is None else to_text(step.toolbox, "toolbox"),
            None if step.usage is None else to_text(dict(step.usage), "usage"),
            tenant,
            session,
        ),
    )


def has_session(connection: sqlite3.Connection, tenant: str, session: str) -> bool:
    found = connection.execute("SELECT 1 FROM sessions WHERE tenant = ? AND id = ?", (tenant, session))
    return found.fetchone() is not None


def delete_session(connection: sqlite3.Connection, tenant: str, session: str) -> int:
    """Forget a session and all that belongs to it; how many that were."""
    return connection.execute("DELETE FROM sessions WHERE tenant = ? AND id = ?", (tenant, session)).rowcount


def select_ids_before(connection: sqlite3.Connection, tenant: str, before: datetime) -> list[str]:
    """The sessions that were last changed before a moment."""
    query = "SELECT id FROM sessions WHERE tenant = ? AND updated_at < ?"
    return [id for (id,) in connection.execute(query, (tenant, microseconds(before)))]


def unknown_session(connection: sqlite3.Connection, tenant: str, session: str) -> UnknownSessionError:
    """The complaint, with the nearest of the tenant's own newest sessions."""
    return UnknownSessionError(session, [info.id for info in select_infos(connection, tenant, limit=1_000)])


def select_session(connection: sqlite3.Connection, tenant: str, session: str, *, events: bool) -> SessionRecord:
    row = connection.execute(
        f"SELECT {SESSION_COLUMNS} FROM sessions WHERE tenant = ? AND id = ?",
        (tenant, session),
    ).fetchone()
    if row is None:
        raise unknown_session(connection, tenant, session)
    messages = connection.execute(
        "SELECT message FROM messages WHERE tenant = ? AND session = ? ORDER BY position", (tenant, session)
    )
    confirmations = select_confirmations(connection, tenant, session)
    log = select_events(connection, tenant, session, after=-1) if events else ()
    calls = connection.execute(
        f"SELECT {CALL_COLUMNS} FROM calls WHERE tenant = ? AND session = ? ORDER BY begun_at, id", (tenant, session)
    )
    return read_session(session, row, messages, confirmations, log, calls)


def select_infos(connection: sqlite3.Connection, tenant: str, *, limit: int | None) -> tuple[SessionInfo, ...]:
    rows = connection.execute(
        "SELECT id, title, created_at, updated_at, usage,"
        " (SELECT count(*) FROM messages WHERE messages.tenant = sessions.tenant AND messages.session = sessions.id)"
        " FROM sessions WHERE tenant = ? ORDER BY updated_at DESC, id LIMIT ?",
        (tenant, -1 if limit is None else limit),
    )
    return tuple(read_info(row) for row in rows)


def select_events(connection: sqlite3.Connection, tenant: str, session: str, *, after: int) -> tuple[LoggedEvent, ...]:
    rows = connection.execute(
        "SELECT position, at, event FROM events WHERE tenant = ? AND session = ? AND position > ? ORDER BY position",
        (tenant, session, after),
    )
    return tuple(read_event(row) for row in rows)


def insert_call(connection: sqlite3.Connection, tenant: str, session: str, call: BegunCall) -> bool:
    """The mark of a call; gives whether there was none with its id."""
    query = f"INSERT OR IGNORE INTO calls (tenant, session, {CALL_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
    return connection.execute(query, (tenant, session, *call_row(call))).rowcount > 0


def raise_fence(connection: sqlite3.Connection, tenant: str, session: str) -> None:
    """Give the session's next holder a higher number than any before."""
    connection.execute("UPDATE sessions SET fence = fence + 1 WHERE tenant = ? AND id = ?", (tenant, session))


def insert_confirmation(connection: sqlite3.Connection, tenant: str, session: str, one: Confirmation) -> None:
    connection.execute(
        f"INSERT INTO confirmations (tenant, session, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (tenant, session, *confirmation_row(one)),
    )


def select_confirmations(connection: sqlite3.Connection, tenant: str, session: str) -> tuple[Confirmation, ...]:
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM confirmations WHERE tenant = ? AND session = ? ORDER BY created_at, id",
        (tenant, session),
    )
    return tuple(read_confirmation(row) for row in rows)


def settle_confirmation(
    connection: sqlite3.Connection,
    tenant: str,
    session: str,
    id: str,
    digest: str | None,
    settled_as: Resolution,
    now: datetime,
) -> Confirmation | Refusal:
    """One statement decides: it changes the row only while the confirmation is open, so only one caller succeeds."""
    # Without RETURNING, which the SQLite of older systems does not know; the transaction keeps both looks together.
    settled = connection.execute(
        "UPDATE confirmations SET settled_at = ?, settled_as = ? WHERE tenant = ? AND session = ? AND id = ?"
        " AND settled_as IS NULL AND expires_at > ? AND digest = coalesce(?, digest)",
        (microseconds(now), settled_as, tenant, session, id, microseconds(now), digest),
    )
    row = connection.execute(
        f"SELECT {COLUMNS} FROM confirmations WHERE tenant = ? AND session = ? AND id = ?", (tenant, session, id)
    ).fetchone()
    if row is None:
        return Refusal.UNKNOWN
    there = read_confirmation(row)
    return there if settled.rowcount else refusal_of(there, now)


def _end_of(connection: sqlite3.Connection, table: str, tenant: str, session: str) -> int:
    query = f"SELECT coalesce(max(position), -1) + 1 FROM {table} WHERE tenant = ? AND session = ?"
    return connection.execute(query, (tenant, session)).fetchone()[0]


def _insert_messages(
    connection: sqlite3.Connection, tenant: str, session: str, start: int, messages: Iterable[Json]
) -> None:
    connection.executemany(
        "INSERT INTO messages (tenant, session, position, message) VALUES (?, ?, ?, ?)",
        [(tenant, session, position, to_text(message, "message")) for position, message in enumerate(messages, start)],
    )


def _insert_events(connection: sqlite3.Connection, tenant: str, session: str, events: Iterable[LoggedEvent]) -> None:
    connection.executemany(
        "INSERT INTO events (tenant, session, position, at, event) VALUES (?, ?, ?, ?, ?)",
        [(tenant, session, one.position, microseconds(one.at), to_text(one.event, "event")) for one in events],
    )
