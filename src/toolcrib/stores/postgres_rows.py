"""Between rows and values: the queries of a PostgreSQL store, each of them for one tenant."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from toolcrib.errors import UnknownSessionError
from toolcrib.stores.json_text import to_text
from toolcrib.stores.leases import Lease
from toolcrib.stores.moments import microseconds
from toolcrib.stores.postgres_confirmations import insert_confirmations, select_confirmations
from toolcrib.stores.postgres_leases import EXPIRES_AT, named
from toolcrib.stores.record import LoggedEvent, SessionInfo, SessionRecord, Step
from toolcrib.stores.session_row import SESSION_COLUMNS, read_event, read_info, read_session

if TYPE_CHECKING:
    from psycopg import AsyncConnection


async def insert_session(connection: "AsyncConnection[Any]", tenant: str, record: SessionRecord) -> None:
    """A whole session, as it was read from a store, or a new one."""
    await connection.execute(
        "INSERT INTO toolcrib_sessions (tenant, id, title, created_at, updated_at, memory, toolbox, usage)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        (
            tenant,
            record.id,
            record.title,
            microseconds(record.created_at),
            microseconds(record.updated_at),
            to_text(record.memory.to_json(), "working memory"),
            to_text(record.toolbox, "toolbox"),
            to_text(dict(record.usage), "usage"),
        ),
    )
    if record.history:
        await connection.execute(
            "INSERT INTO toolcrib_messages (tenant, session, position, message)"
            " SELECT %s, %s, number - 1, message FROM unnest(%s::text[]) WITH ORDINALITY AS new (message, number)",
            (tenant, record.id, _texts(record.history, "message")),
        )
    await insert_confirmations(connection, tenant, record.id, record.confirmations)
    if record.events:
        await connection.execute(
            "INSERT INTO toolcrib_events (tenant, session, position, at, event)"
            " SELECT %s, %s, * FROM unnest(%s::integer[], %s::bigint[], %s::text[])",
            (
                tenant,
                record.id,
                [one.position for one in record.events],
                [microseconds(one.at) for one in record.events],
                _texts((one.event for one in record.events), "event"),
            ),
        )


async def insert_step(
    connection: "AsyncConnection[Any]", lease: Lease, step: Step, *, at: int, now: int | None, write: str
) -> bool:
    """What a step adds to a session, and what it changes; nothing, when the lease is not ours.

    It is one statement, and so kept whole or not at all: everything in it hangs on the renewal of the lease.
    """
    kept = await connection.execute(
        f"""WITH ours AS (
            UPDATE toolcrib_leases SET expires_at = {EXPIRES_AT}, last_write = %(write)s
            WHERE tenant = %(tenant)s AND session = %(session)s AND token = %(token)s RETURNING tenant, session
        ), messages AS (
            INSERT INTO toolcrib_messages (tenant, session, position, message)
            SELECT tenant, session, last + number, message
            FROM ours, unnest(%(messages)s::text[]) WITH ORDINALITY AS new (message, number), LATERAL (
                SELECT coalesce(max(position), -1) AS last FROM toolcrib_messages AS held
                WHERE held.tenant = ours.tenant AND held.session = ours.session) AS held
        ), events AS (
            INSERT INTO toolcrib_events (tenant, session, position, at, event)
            SELECT tenant, session, last + number, %(at)s, event
            FROM ours, unnest(%(events)s::text[]) WITH ORDINALITY AS new (event, number), LATERAL (
                SELECT coalesce(max(position), -1) AS last FROM toolcrib_events AS held
                WHERE held.tenant = ours.tenant AND held.session = ours.session) AS held
        ), changed AS (
            UPDATE toolcrib_sessions AS held SET updated_at = greatest(updated_at, %(at)s::bigint),
                title = coalesce(%(title)s, title), memory = coalesce(%(memory)s, memory),
                toolbox = coalesce(%(toolbox)s, toolbox), usage = coalesce(%(usage)s, usage)
            FROM ours WHERE held.tenant = ours.tenant AND held.id = ours.session
        ) SELECT 1 FROM ours""",
        {
            **named(lease),
            "now": now,
            "write": write,
            "at": at,
            "messages": _texts(step.messages, "message"),
            "events": _texts(step.events, "event"),
            "title": step.title,
            "memory": None if step.memory is None else to_text(step.memory.to_json(), "working memory"),
            "toolbox": None if step.toolbox is None else to_text(step.toolbox, "toolbox"),
            "usage": None if step.usage is None else to_text(dict(step.usage), "usage"),
        },
    )
    return await kept.fetchone() is not None


async def has_session(connection: "AsyncConnection[Any]", tenant: str, session: str) -> bool:
    query = "SELECT 1 FROM toolcrib_sessions WHERE tenant = %s AND id = %s"
    return await (await connection.execute(query, (tenant, session))).fetchone() is not None


async def delete_session(connection: "AsyncConnection[Any]", tenant: str, session: str) -> int:
    """Forget a session and all that belongs to it; how many that were."""
    query = "DELETE FROM toolcrib_sessions WHERE tenant = %s AND id = %s"
    return (await connection.execute(query, (tenant, session))).rowcount


async def select_ids_before(connection: "AsyncConnection[Any]", tenant: str, before: int) -> list[str]:
    """The sessions that were last changed before a moment."""
    query = "SELECT id FROM toolcrib_sessions WHERE tenant = %s AND updated_at < %s"
    return [id for (id,) in await (await connection.execute(query, (tenant, before))).fetchall()]


async def is_older(connection: "AsyncConnection[Any]", tenant: str, session: str, before: int) -> bool:
    """Whether a session is there and was last changed before a moment."""
    query = "SELECT 1 FROM toolcrib_sessions WHERE tenant = %s AND id = %s AND updated_at < %s"
    return await (await connection.execute(query, (tenant, session, before))).fetchone() is not None


async def unknown_session(connection: "AsyncConnection[Any]", tenant: str, session: str) -> UnknownSessionError:
    """The complaint, with the nearest of the tenant's own newest sessions."""
    query = "SELECT id FROM toolcrib_sessions WHERE tenant = %s ORDER BY updated_at DESC LIMIT 1000"
    return UnknownSessionError(session, [id for (id,) in await (await connection.execute(query, (tenant,))).fetchall()])


async def select_session(
    connection: "AsyncConnection[Any]", tenant: str, session: str, *, events: bool
) -> SessionRecord:
    found = await connection.execute(
        f"SELECT {SESSION_COLUMNS} FROM toolcrib_sessions WHERE tenant = %s AND id = %s",
        (tenant, session),
    )
    row = await found.fetchone()
    if row is None:
        raise await unknown_session(connection, tenant, session)
    messages = await connection.execute(
        "SELECT message FROM toolcrib_messages WHERE tenant = %s AND session = %s ORDER BY position", (tenant, session)
    )
    history = await messages.fetchall()
    confirmations = await select_confirmations(connection, tenant, session)
    log = await select_events(connection, tenant, session, after=-1) if events else ()
    return read_session(session, row, history, confirmations, log)


async def select_infos(
    connection: "AsyncConnection[Any]", tenant: str, *, limit: int | None
) -> tuple[SessionInfo, ...]:
    rows = await connection.execute(
        "SELECT id, title, created_at, updated_at, usage, (SELECT count(*) FROM toolcrib_messages AS messages"
        " WHERE messages.tenant = sessions.tenant AND messages.session = sessions.id)"
        " FROM toolcrib_sessions AS sessions WHERE tenant = %s ORDER BY updated_at DESC, id LIMIT %s",
        (tenant, limit),
    )
    return tuple(read_info(row) for row in await rows.fetchall())


async def select_events(
    connection: "AsyncConnection[Any]", tenant: str, session: str, *, after: int
) -> tuple[LoggedEvent, ...]:
    rows = await connection.execute(
        "SELECT position, at, event FROM toolcrib_events"
        " WHERE tenant = %s AND session = %s AND position > %s ORDER BY position",
        (tenant, session, after),
    )
    return tuple(read_event(row) for row in await rows.fetchall())


def _texts(values: Iterable[object], what: str) -> list[str]:
    return [to_text(value, what) for value in values]
