"""The questions to users in a PostgreSQL store, each of them used at most once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolcrib.stores.confirmation_row import COLUMNS, confirmation_row, read_confirmation, refusal_of
from toolcrib.stores.leases import Lease
from toolcrib.stores.moments import moment
from toolcrib.stores.postgres_leases import EXPIRES_AT, named
from toolcrib.stores.record import Confirmation, Refusal, Settled

if TYPE_CHECKING:
    from psycopg import AsyncConnection


async def insert_confirmations(
    connection: "AsyncConnection[Any]", tenant: str, session: str, confirmations: Sequence[Confirmation]
) -> None:
    """Those of a session that was read from a store."""
    async with connection.cursor() as cursor:
        await cursor.executemany(
            f"INSERT INTO toolcrib_confirmations (tenant, session, {COLUMNS})"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [(tenant, session, *confirmation_row(one)) for one in confirmations],
        )


async def add_confirmation(
    connection: "AsyncConnection[Any]", lease: Lease, one: Confirmation, now: int | None
) -> bool:
    """Keep a question, once, if the lease is ours."""
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
    settled_as: Settled,
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
    by_us_before = again and (there.settled_at, there.settled_as) == (moment(at), settled_as)
    if settled.rowcount or by_us_before:
        return there
    return refusal_of(there, moment(at))
