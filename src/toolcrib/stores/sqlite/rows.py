"""The queries of a SQLite store, and the mapping of rows to values; each query is for one tenant."""

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from toolcrib.errors import StoreError, UnknownSessionError
from toolcrib.stores.record import (
    CALL_COLUMNS,
    COLUMNS,
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
    from_microseconds,
    microseconds,
    read_confirmation,
    read_event,
    read_info,
    read_session,
    refusal_of,
    to_text,
)
from toolcrib.stores.sqlite.integrity import Row, Table, damaged


class SessionRow(NamedTuple):
    """The row of a session, with the number of rows that belong to it in the other tables."""

    tenant: str
    id: str
    title: str
    created_at: int
    updated_at: int
    memory: str
    toolbox: str
    usage: str
    fence: int
    message_count: int = 0
    event_count: int = 0
    confirmation_count: int = 0
    call_count: int = 0


class LeaseRow(NamedTuple):
    """The row of a lease."""

    tenant: str
    session: str
    token: str
    host: str
    pid: int
    started: str
    expires_at: int


SESSIONS = Table("sessions", SessionRow, *SessionRow._fields, key=2)
LEASES = Table("leases", LeaseRow, *LeaseRow._fields, key=2)
MESSAGES: Table[Row] = Table("messages", None, "tenant", "session", "position", "message", key=3)
EVENTS: Table[Row] = Table("events", None, "tenant", "session", "position", "at", "event", key=3)
CONFIRMATIONS: Table[Row] = Table("confirmations", None, "tenant", "session", *COLUMNS.split(", "), key=3)
CALLS: Table[Row] = Table("calls", None, "tenant", "session", *CALL_COLUMNS.split(", "), key=3)

_OF_SESSION = "tenant = ? AND session = ?"


def insert_session(connection: sqlite3.Connection, tenant: str, record: SessionRecord) -> None:
    """A whole session, as it was read from a store, or a new one."""
    head = SessionRow(
        tenant=tenant,
        id=record.id,
        title=record.title,
        created_at=microseconds(record.created_at),
        updated_at=microseconds(record.updated_at),
        memory=to_text(record.memory.to_json(), "working memory"),
        toolbox=to_text(record.toolbox, "toolbox"),
        usage=to_text(dict(record.usage), "usage"),
        fence=record.fence,
        message_count=len(record.history),
        event_count=len(record.events),
        confirmation_count=len(_distinct(one.id for one in record.confirmations)),
        call_count=len(_distinct(one.id for one in record.calls)),
    )
    SESSIONS.insert(connection, [head])
    _insert_messages(connection, head, 0, record.history)
    confirmations = [(tenant, record.id, *confirmation_row(one)) for one in record.confirmations]
    CONFIRMATIONS.insert(connection, confirmations)
    _insert_events(connection, head, 0, record.events)
    CALLS.insert(connection, [(tenant, record.id, *call_row(one)) for one in record.calls])


def _distinct(ids: Iterable[str]) -> list[str]:
    found = list(ids)
    if len(set(found)) < len(found):
        raise StoreError("The session has two confirmations or calls with one id.", hint="Give each its own.")
    return found


def insert_step(connection: sqlite3.Connection, tenant: str, session: str, step: Step, now: datetime) -> None:
    """Write what a step adds and changes."""
    head = _held(connection, tenant, session)
    _insert_messages(connection, head, head.message_count, step.messages)
    events = [LoggedEvent(position=0, at=now, event=event) for event in step.events]
    _insert_events(connection, head, head.event_count, events)
    after = head._replace(
        updated_at=max(head.updated_at, microseconds(now)),
        message_count=head.message_count + len(step.messages),
        event_count=head.event_count + len(step.events),
    )
    if step.title is not None:
        after = after._replace(title=step.title)
    if step.memory is not None:
        after = after._replace(memory=to_text(step.memory.to_json(), "working memory"))
    if step.toolbox is not None:
        after = after._replace(toolbox=to_text(step.toolbox, "toolbox"))
    if step.usage is not None:
        after = after._replace(usage=to_text(dict(step.usage), "usage"))
    SESSIONS.update(connection, after)


def find_session(connection: sqlite3.Connection, tenant: str, session: str) -> SessionRow | None:
    """The row of a session, if there is one."""
    return next(SESSIONS.select(connection, "tenant = ? AND id = ?", (tenant, session)), None)


def _held(connection: sqlite3.Connection, tenant: str, session: str) -> SessionRow:
    """The row of a session that is open."""
    head = find_session(connection, tenant, session)
    if head is None:
        raise damaged(connection, f"the row of the session {session!r} is missing")
    return head


def delete_session(connection: sqlite3.Connection, tenant: str, session: str) -> int:
    """Delete a session with everything that belongs to it; returns how many there were."""
    return connection.execute("DELETE FROM sessions WHERE tenant = ? AND id = ?", (tenant, session)).rowcount


def select_ids_before(connection: sqlite3.Connection, tenant: str, before: datetime) -> list[str]:
    """The sessions that were last changed before a time."""
    rows = SESSIONS.select(connection, "tenant = ? AND updated_at < ?", (tenant, microseconds(before)))
    return [row.id for row in rows]


def unknown_session(connection: sqlite3.Connection, tenant: str, session: str) -> UnknownSessionError:
    """The error for an unknown id, with the most similar of the tenant's newest sessions."""
    return UnknownSessionError(session, [info.id for info in select_infos(connection, tenant, limit=1_000)])


def select_session(connection: sqlite3.Connection, tenant: str, session: str, *, events: bool) -> SessionRecord:
    head = find_session(connection, tenant, session)
    if head is None:
        raise unknown_session(connection, tenant, session)
    messages = _rows_of(connection, MESSAGES, head, head.message_count, "position")
    calls = _rows_of(connection, CALLS, head, head.call_count, "begun_at, id")
    log = select_events(connection, tenant, session, after=-1) if events else ()
    return read_session(
        session,
        (head.title, head.created_at, head.updated_at, head.memory, head.toolbox, head.usage, head.fence),
        [(message,) for *_, message in messages],
        select_confirmations(connection, head),
        log,
        [(id, tool, fence, at) for _, _, id, tool, fence, at in calls],
    )


def _rows_of(connection: sqlite3.Connection, table: Table[Row], head: SessionRow, count: int, order: str) -> list[Row]:
    """All rows that belong to a session: each whole, none missing."""
    rows = list(table.select(connection, f"{_OF_SESSION} ORDER BY {order}", (head.tenant, head.id)))
    if len(rows) != count:
        what = f"the session {head.id!r} has {len(rows)} of {count} rows of {table.name!r}"
        raise damaged(connection, what)
    return rows


def select_infos(connection: sqlite3.Connection, tenant: str, *, limit: int | None) -> tuple[SessionInfo, ...]:
    where = "tenant = ? ORDER BY updated_at DESC, id LIMIT ?"
    rows = SESSIONS.select(connection, where, (tenant, -1 if limit is None else limit))
    return tuple(
        read_info((row.id, row.title, row.created_at, row.updated_at, row.usage, row.message_count)) for row in rows
    )


def select_events(connection: sqlite3.Connection, tenant: str, session: str, *, after: int) -> tuple[LoggedEvent, ...]:
    """The log after a position; raises an error if a line of it is missing."""
    head = find_session(connection, tenant, session)
    if head is None:
        raise unknown_session(connection, tenant, session)
    where = f"{_OF_SESSION} AND position > ? ORDER BY position"
    rows = list(EVENTS.select(connection, where, (tenant, session, after)))
    if len(rows) != max(0, head.event_count - max(0, after + 1)):
        raise damaged(connection, f"lines of the log of the session {session!r} are missing")
    return tuple(read_event((position, at, event)) for _, _, position, at, event in rows)


def insert_call(connection: sqlite3.Connection, tenant: str, session: str, call: BegunCall) -> bool:
    """Mark a call as begun; returns whether there was no mark with its id."""
    added = CALLS.insert(connection, [(tenant, session, *call_row(call))], conflict="IGNORE")
    if added:
        head = _held(connection, tenant, session)
        SESSIONS.update(connection, head._replace(call_count=head.call_count + 1))
    return added > 0


def raise_fence(connection: sqlite3.Connection, tenant: str, session: str) -> None:
    """Give the session's next holder a higher fencing number than any before."""
    head = _held(connection, tenant, session)
    SESSIONS.update(connection, head._replace(fence=head.fence + 1))


def insert_confirmation(connection: sqlite3.Connection, tenant: str, session: str, one: Confirmation) -> None:
    head = _held(connection, tenant, session)
    CONFIRMATIONS.insert(connection, [(tenant, session, *confirmation_row(one))])
    SESSIONS.update(connection, head._replace(confirmation_count=head.confirmation_count + 1))


def select_confirmations(connection: sqlite3.Connection, head: SessionRow) -> tuple[Confirmation, ...]:
    rows = _rows_of(connection, CONFIRMATIONS, head, head.confirmation_count, "created_at, id")
    return tuple(read_confirmation(row[2:]) for row in rows)


def settle_confirmation(
    connection: sqlite3.Connection,
    tenant: str,
    session: str,
    id: str,
    digest: str | None,
    settled_as: Resolution,
    now: datetime,
) -> Confirmation | Refusal:
    """Use it up, if it is open; the transaction, which holds the file's write lock, lets only one caller do so."""
    row = next(CONFIRMATIONS.select(connection, f"{_OF_SESSION} AND id = ?", (tenant, session, id)), None)
    if row is None:
        return Refusal.UNKNOWN
    there = read_confirmation(row[2:])
    if not there.is_pending(now) or digest not in (None, there.digest):
        return refusal_of(there, now)
    settled = replace(there, settled_at=from_microseconds(microseconds(now)), settled_as=settled_as)
    CONFIRMATIONS.update(connection, (tenant, session, *confirmation_row(settled)))
    return settled


def _insert_messages(connection: sqlite3.Connection, head: SessionRow, start: int, messages: Iterable[Json]) -> None:
    MESSAGES.insert(
        connection,
        [
            (head.tenant, head.id, position, to_text(message, "message"))
            for position, message in enumerate(messages, start)
        ],
    )


def _insert_events(connection: sqlite3.Connection, head: SessionRow, start: int, events: Iterable[LoggedEvent]) -> None:
    EVENTS.insert(
        connection,
        [
            (head.tenant, head.id, position, microseconds(one.at), to_text(one.event, "event"))
            for position, one in enumerate(events, start)
        ],
    )
