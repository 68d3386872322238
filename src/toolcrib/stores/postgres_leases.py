"""The leases of a PostgreSQL store: one row a session, taken under an advisory lock, checked in every write.

Why rows, and not an advisory lock held as long as the session is open: such a lock needs a connection for each open
session, ends without a word when that connection breaks, and does not work behind a pooler. Here an advisory lock is
held only for the moment in which the row is taken, so that of all replicas that try at once exactly one gets it. Leases
are timed by the database's clock: the clocks of replicas may differ.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, LiteralString

from toolcrib.errors import SessionBusyError
from toolcrib.stores.leases import Lease
from toolcrib.stores.owner import Owner

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection

NOW: LiteralString = "coalesce(%(now)s::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
EXPIRES_AT: LiteralString = NOW + " + 30000000"  # `LASTS`, in microseconds


async def lock(connection: "AsyncConnection[Any]", tenant: str, session: str) -> None:
    """Wait for our turn with a session, until this transaction ends. A collision of hashes only means a wait."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, hashtextextended(%s, 0)))", (session, tenant)
    )


async def take(connection: "AsyncConnection[Any]", lease: Lease, now: int | None, *, by_force: bool = False) -> None:
    """Take the lease, or refuse when somebody else has it, unless by force; for the one who holds the lock."""
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
    """Refuse to touch a session that somebody has open, unless with this token."""
    # The row is locked, so that a holder who renews it just now is seen to.
    holder = await _holder(connection, tenant, session, now, unless, "FOR UPDATE")
    if holder is not None:
        raise SessionBusyError(session, str(holder))


async def holder_of(connection: "AsyncConnection[Any]", tenant: str, session: str, now: int | None) -> Owner | None:
    """Who has a session open."""
    return await _holder(connection, tenant, session, now, "", "")


async def _holder(
    connection: "AsyncConnection[Any]", tenant: str, session: str, now: int | None, unless: str, locked: LiteralString
) -> Owner | None:
    row = await (
        await connection.execute(
            f"SELECT expires_at > {NOW}, host, pid, started FROM toolcrib_leases"
            f" WHERE tenant = %(tenant)s AND session = %(session)s AND token <> %(unless)s {locked}",
            {"tenant": tenant, "session": session, "unless": unless, "now": now},
        )
    ).fetchone()
    if row is None or not row[0]:
        return None
    holder = Owner(*row[1:])
    return None if holder.is_gone() else holder


async def wrote(connection: "AsyncConnection[Any]", lease: Lease, write: str) -> bool:
    """Whether a write was kept although the connection broke before the database could say so."""
    row = await (
        await connection.execute(
            "SELECT 1 FROM toolcrib_leases WHERE tenant = %s AND session = %s AND token = %s AND last_write = %s",
            (*lease.row, write),
        )
    ).fetchone()
    return row is not None


async def renew(connection: "AsyncConnection[Any]", lease: Lease, now: int | None) -> bool:
    """Keep the lease for another while, and locked until this transaction ends; gives whether it is still ours."""
    renewed = await connection.execute(
        f"UPDATE toolcrib_leases SET expires_at = {EXPIRES_AT}"
        " WHERE tenant = %(tenant)s AND session = %(session)s AND token = %(token)s",
        {**named(lease), "now": now},
    )
    return renewed.rowcount > 0


def renew_all(connection: "Connection[Any]", leases: Iterable[Lease], now: int | None) -> list[Lease]:
    """Keep leases for another while; gives those that are no longer ours."""
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
    """Give the lease back; nothing happens when it is not ours."""
    await connection.execute("DELETE FROM toolcrib_leases WHERE tenant = %s AND session = %s AND token = %s", lease.row)


def named(lease: Lease) -> dict[str, Any]:
    """A lease as the parameters of a query."""
    return {"tenant": lease.tenant, "session": lease.session, "token": lease.token}
