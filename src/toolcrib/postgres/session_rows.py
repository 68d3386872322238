"""The queries of a PostgreSQL store, and the mapping of rows to values; each query is for one tenant."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, LiteralString

from toolcrib.errors import SessionBusyError, UnknownSessionError
from toolcrib.postgres.migrations import Component, Migration
from toolcrib.stores.lease import Lease, Owner, unreleased
from toolcrib.stores.record import (
    CALL_COLUMNS,
    COLUMNS,
    SESSION_COLUMNS,
    BegunCall,
    Confirmation,
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

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection


# The leases of a PostgreSQL store: one row a session, taken under an advisory lock, checked in every write.

NOW: LiteralString = "coalesce(%(now)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
EXPIRES_AT: LiteralString = NOW + " + 30000000"  # `LEASE_DURATION`, in microseconds


async def lock(connection: "AsyncConnection[Any]", tenant: str, session: str) -> None:
    """Lock a session until this transaction ends. A collision of hashes only causes a wait."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, hashtextextended(%s, 0)))", (session, tenant)
    )


async def take(connection: "AsyncConnection[Any]", lease: Lease, now: int | None, *, by_force: bool = False) -> None:
    """Take the lease; refused if somebody else has it, unless by force. The caller must hold the lock."""
    if not by_force:
        await refuse_busy(connection, lease.tenant, lease.session, now, unless=lease.token)
    us = Owner.here()
    await connection.execute(
        "INSERT INTO toolcrib_leases (tenant, session, token, host, pid, started, expires_at) VALUES"
        f" (%(tenant)s, %(session)s, %(token)s, %(host)s, %(pid)s, %(started)s, {EXPIRES_AT})"
        " ON CONFLICT (tenant, session) DO UPDATE SET token = excluded.token, host = excluded.host, pid = excluded.pid,"
        " started = excluded.started, expires_at = excluded.expires_at, last_write = ''",
        {**named(lease), "host": us.host, "pid": us.pid, "started": us.started, "now": now},
    )


async def refuse_busy(
    connection: "AsyncConnection[Any]", tenant: str, session: str, now: int | None, *, unless: str = ""
) -> None:
    """Raise an error if the session is open, unless with this token."""
    # The row is locked, so that a holder who renews it just now is seen to.
    holder = await _holder(connection, tenant, session, now, unless, "FOR UPDATE")
    if holder is not None:
        raise SessionBusyError(session, str(holder))


async def holder_of(connection: "AsyncConnection[Any]", tenant: str, session: str, now: int | None) -> Owner | None:
    """The holder of a session's lease."""
    return await _holder(connection, tenant, session, now, "", "")


async def _holder(
    connection: "AsyncConnection[Any]", tenant: str, session: str, now: int | None, unless: str, locked: LiteralString
) -> Owner | None:
    row = await (
        await connection.execute(
            f"SELECT token, expires_at > {NOW}, host, pid, started FROM toolcrib_leases"
            f" WHERE tenant = %(tenant)s AND session = %(session)s AND token <> %(unless)s {locked}",
            {"tenant": tenant, "session": session, "unless": unless, "now": now},
        )
    ).fetchone()
    if row is None or row[0] in unreleased or not row[1]:
        return None
    holder = Owner(*row[2:])
    return None if holder.is_gone() else holder


async def shorten(connection: "AsyncConnection[Any]", lease: Lease, now: int | None) -> bool:
    """Let a lease that was written under a clock ahead of ours run out like any other, unless its holder renews it."""
    changed = await connection.execute(
        f"UPDATE toolcrib_leases SET expires_at = {EXPIRES_AT}"
        f" WHERE tenant = %(tenant)s AND session = %(session)s AND expires_at > {NOW} + 60000000",  # `AHEAD`
        {"tenant": lease.tenant, "session": lease.session, "now": now},
    )
    return changed.rowcount > 0


async def begin_call(
    connection: "AsyncConnection[Any]", lease: Lease, call: BegunCall, now: int | None, *, again: bool
) -> bool | None:
    """Mark a call as begun, once; None if the lease is not ours, False if there is a mark already.

    `again` says that the connection broke when we did so before: then a mark of the same holder is ours.
    """
    marked = await connection.execute(
        f"""WITH ours AS (
            UPDATE toolcrib_leases SET expires_at = {EXPIRES_AT}
            WHERE tenant = %(tenant)s AND session = %(session)s AND token = %(token)s RETURNING tenant, session
        ), held AS (
            SELECT 1 FROM toolcrib_calls WHERE tenant = %(tenant)s AND session = %(session)s AND id = %(id)s
                AND NOT (%(again)s AND fence = %(fence)s)
        ), begun AS (
            INSERT INTO toolcrib_calls (tenant, session, {CALL_COLUMNS})
            SELECT tenant, session, %(id)s, %(tool)s, %(fence)s::bigint, %(begun_at)s::bigint FROM ours
            ON CONFLICT (tenant, session, id) DO NOTHING
        ) SELECT NOT EXISTS (SELECT 1 FROM held) FROM ours""",
        {
            **named(lease),
            **dict(zip(CALL_COLUMNS.split(", "), call_row(call), strict=True)),
            "now": now,
            "again": again,
        },
    )
    row = await marked.fetchone()
    return None if row is None else bool(row[0])


async def raise_fence(connection: "AsyncConnection[Any]", tenant: str, session: str) -> None:
    """Give the session's next holder a higher fencing number than any before."""
    query = "UPDATE toolcrib_sessions SET fence = fence + 1 WHERE tenant = %s AND id = %s"
    await connection.execute(query, (tenant, session))


async def wrote(connection: "AsyncConnection[Any]", lease: Lease, write: str) -> bool:
    """Whether a write was committed although the connection broke before the database confirmed it."""
    row = await (
        await connection.execute(
            "SELECT 1 FROM toolcrib_leases WHERE tenant = %s AND session = %s AND token = %s AND last_write = %s",
            (*lease.row, write),
        )
    ).fetchone()
    return row is not None


async def renew(connection: "AsyncConnection[Any]", lease: Lease, now: int | None) -> bool:
    """Renew the lease and lock it until this transaction ends; returns whether it is still ours."""
    renewed = await connection.execute(
        f"UPDATE toolcrib_leases SET expires_at = {EXPIRES_AT}"
        " WHERE tenant = %(tenant)s AND session = %(session)s AND token = %(token)s",
        {**named(lease), "now": now},
    )
    return renewed.rowcount > 0


def renew_all(connection: "Connection[Any]", leases: Iterable[Lease], now: int | None) -> list[Lease]:
    """Renew leases; returns those that are no longer ours."""
    held = list(leases)
    rows = connection.execute(
        f"UPDATE toolcrib_leases AS ours SET expires_at = {EXPIRES_AT}"
        " FROM unnest(%(tenants)s::text[], %(sessions)s::text[], %(tokens)s::text[]) AS held (tenant, session, token)"
        " WHERE ours.tenant = held.tenant AND ours.session = held.session AND ours.token = held.token"
        " RETURNING ours.token",
        {
            "tenants": [lease.tenant for lease in held],
            "sessions": [lease.session for lease in held],
            "tokens": [lease.token for lease in held],
            "now": now,
        },
    )
    renewed = {token for (token,) in rows}
    return [lease for lease in held if lease.token not in renewed]


async def release(connection: "AsyncConnection[Any]", lease: Lease) -> None:
    """Release the lease; does nothing if it is not ours."""
    await connection.execute("DELETE FROM toolcrib_leases WHERE tenant = %s AND session = %s AND token = %s", lease.row)


def named(lease: Lease) -> dict[str, Any]:
    """A lease as the parameters of a query."""
    return {"tenant": lease.tenant, "session": lease.session, "token": lease.token}


# The questions to users in a PostgreSQL store, each of them used at most once.


async def insert_confirmations(
    connection: "AsyncConnection[Any]", tenant: str, session: str, confirmations: Sequence[Confirmation]
) -> None:
    """Insert the confirmations of a session that was read from a store."""
    async with connection.cursor() as cursor:
        await cursor.executemany(
            f"INSERT INTO toolcrib_confirmations (tenant, session, {COLUMNS})"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [(tenant, session, *confirmation_row(one)) for one in confirmations],
        )


async def add_confirmation(
    connection: "AsyncConnection[Any]", lease: Lease, one: Confirmation, now: int | None
) -> bool:
    """Store a confirmation, once, if the lease is ours."""
    kept = await connection.execute(
        f"""WITH ours AS (
            UPDATE toolcrib_leases SET expires_at = {EXPIRES_AT}
            WHERE tenant = %(tenant)s AND session = %(session)s AND token = %(token)s RETURNING tenant, session
        ), asked AS (
            INSERT INTO toolcrib_confirmations (tenant, session, {COLUMNS})
            SELECT tenant, session, %(id)s, %(tool)s, %(arguments)s, %(digest)s, %(created_at)s::bigint,
                %(expires_at)s::bigint, %(settled_at)s::bigint, %(settled_as)s FROM ours
            ON CONFLICT (tenant, session, id) DO NOTHING
        ) SELECT 1 FROM ours""",
        {**named(lease), **dict(zip(COLUMNS.split(", "), confirmation_row(one), strict=True)), "now": now},
    )
    return await kept.fetchone() is not None


async def select_confirmations(
    connection: "AsyncConnection[Any]", tenant: str, session: str
) -> tuple[Confirmation, ...]:
    rows = await connection.execute(
        f"SELECT {COLUMNS} FROM toolcrib_confirmations WHERE tenant = %s AND session = %s ORDER BY created_at, id",
        (tenant, session),
    )
    return tuple([read_confirmation(row) for row in await rows.fetchall()])


async def settle_confirmation(
    connection: "AsyncConnection[Any]",
    lease: Lease,
    id: str,
    digest: str | None,
    settled_as: Resolution,
    *,
    at: int,
    again: bool,
) -> Confirmation | Refusal:
    """One statement decides: it changes the row only while the confirmation is open, so only one caller succeeds.

    `again` says that the same caller succeeded before, but the connection broke when that should have been kept.
    """
    where = (lease.tenant, lease.session, id)
    settled = await connection.execute(
        "UPDATE toolcrib_confirmations SET settled_at = %s, settled_as = %s"
        " WHERE tenant = %s AND session = %s AND id = %s"
        " AND settled_as IS NULL AND expires_at > %s AND digest = coalesce(%s, digest)",
        (at, settled_as.value, *where, at, digest),
    )
    found = await connection.execute(
        f"SELECT {COLUMNS} FROM toolcrib_confirmations WHERE tenant = %s AND session = %s AND id = %s", where
    )
    row = await found.fetchone()
    if row is None:
        return Refusal.UNKNOWN
    there = read_confirmation(row)
    by_us_before = again and (there.settled_at, there.settled_as) == (from_microseconds(at), settled_as)
    if settled.rowcount or by_us_before:
        return there
    return refusal_of(there, from_microseconds(at))


async def insert_session(connection: "AsyncConnection[Any]", tenant: str, record: SessionRecord) -> None:
    """A whole session, as it was read from a store, or a new one."""
    await connection.execute(
        "INSERT INTO toolcrib_sessions (tenant, id, title, created_at, updated_at, memory, toolbox, usage, fence)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
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
    if record.history:
        await connection.execute(
            "INSERT INTO toolcrib_messages (tenant, session, position, message)"
            " SELECT %s, %s, number - 1, message FROM unnest(%s::text[]) WITH ORDINALITY AS new (message, number)",
            (tenant, record.id, _texts(record.history, "message")),
        )
    await insert_confirmations(connection, tenant, record.id, record.confirmations)
    async with connection.cursor() as cursor:
        await cursor.executemany(
            f"INSERT INTO toolcrib_calls (tenant, session, {CALL_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s)",
            [(tenant, record.id, *call_row(call)) for call in record.calls],
        )
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
    """Write what a step adds and changes; nothing if the lease is not ours.

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
    """Delete a session with everything that belongs to it; returns how many there were."""
    query = "DELETE FROM toolcrib_sessions WHERE tenant = %s AND id = %s"
    return (await connection.execute(query, (tenant, session))).rowcount


async def select_ids_before(connection: "AsyncConnection[Any]", tenant: str, before: int) -> list[str]:
    """The sessions that were last changed before a time."""
    query = "SELECT id FROM toolcrib_sessions WHERE tenant = %s AND updated_at < %s"
    return [id for (id,) in await (await connection.execute(query, (tenant, before))).fetchall()]


async def is_older(connection: "AsyncConnection[Any]", tenant: str, session: str, before: int) -> bool:
    """Whether a session exists and was last changed before a time."""
    query = "SELECT 1 FROM toolcrib_sessions WHERE tenant = %s AND id = %s AND updated_at < %s"
    return await (await connection.execute(query, (tenant, session, before))).fetchone() is not None


async def unknown_session(connection: "AsyncConnection[Any]", tenant: str, session: str) -> UnknownSessionError:
    """The error for an unknown id, with the most similar of the tenant's newest sessions."""
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
    calls = await connection.execute(
        f"SELECT {CALL_COLUMNS} FROM toolcrib_calls WHERE tenant = %s AND session = %s ORDER BY begun_at, id",
        (tenant, session),
    )
    return read_session(session, row, history, confirmations, log, await calls.fetchall())


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


# The tables of a PostgreSQL store. Every row has a tenant, and every key begins with it.

_KEY = 'text COLLATE "C" NOT NULL'
_OF_SESSION = "FOREIGN KEY (tenant, session) REFERENCES toolcrib_sessions (tenant, id) ON DELETE CASCADE"

SESSIONS = Component(
    "sessions",
    (
        Migration(
            1,
            (
                f"""CREATE TABLE toolcrib_sessions (
                    tenant {_KEY}, id {_KEY}, title text NOT NULL, created_at bigint NOT NULL,
                    updated_at bigint NOT NULL, memory text NOT NULL, toolbox text NOT NULL, usage text NOT NULL,
                    PRIMARY KEY (tenant, id))""",
                "CREATE INDEX toolcrib_sessions_by_change ON toolcrib_sessions (tenant, updated_at)",
                f"""CREATE TABLE toolcrib_messages (
                    tenant {_KEY}, session {_KEY}, position integer NOT NULL, message text NOT NULL,
                    PRIMARY KEY (tenant, session, position), {_OF_SESSION})""",
                f"""CREATE TABLE toolcrib_events (
                    tenant {_KEY}, session {_KEY}, position integer NOT NULL, at bigint NOT NULL, event text NOT NULL,
                    PRIMARY KEY (tenant, session, position), {_OF_SESSION})""",
                f"""CREATE TABLE toolcrib_confirmations (
                    tenant {_KEY}, session {_KEY}, id {_KEY}, tool text NOT NULL, arguments text NOT NULL,
                    digest text NOT NULL, created_at bigint NOT NULL, expires_at bigint NOT NULL, settled_at bigint,
                    settled_as text, PRIMARY KEY (tenant, session, id), {_OF_SESSION})""",
                # Changed in every write: room in each page keeps a new version of a row beside the old one.
                f"""CREATE TABLE toolcrib_leases (
                    tenant {_KEY}, session {_KEY}, token text NOT NULL, host text NOT NULL, pid bigint NOT NULL,
                    started text NOT NULL, expires_at bigint NOT NULL, last_write text NOT NULL DEFAULT '',
                    PRIMARY KEY (tenant, session), {_OF_SESSION}) WITH (fillfactor = 50)""",
            ),
        ),
        Migration(
            2,
            (
                "ALTER TABLE toolcrib_sessions ADD COLUMN fence bigint NOT NULL DEFAULT 0",
                f"""CREATE TABLE toolcrib_calls (
                    tenant {_KEY}, session {_KEY}, id {_KEY}, tool text NOT NULL, fence bigint NOT NULL,
                    begun_at bigint NOT NULL, PRIMARY KEY (tenant, session, id), {_OF_SESSION})""",
            ),
        ),
    ),
)
