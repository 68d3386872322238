"""The leases of a SQLite store: one row a session."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from toolcrib.errors import SessionBusyError, SessionLostError
from toolcrib.stores.leases import LASTS, Lease
from toolcrib.stores.moments import microseconds
from toolcrib.stores.owner import Owner


def take(connection: sqlite3.Connection, lease: Lease, now: datetime, *, by_force: bool = False) -> None:
    """Take the lease, or refuse when somebody else has it, unless by force."""
    if not by_force:
        refuse_busy(connection, lease.tenant, lease.session, now)
    us = Owner.here()
    connection.execute(
        "INSERT OR REPLACE INTO leases (tenant, session, token, host, pid, started, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*lease.row, us.host, us.pid, us.started, microseconds(now + LASTS)),
    )


def refuse_busy(connection: sqlite3.Connection, tenant: str, session: str, now: datetime) -> None:
    """Refuse to touch a session that somebody has open."""
    holder = holder_of(connection, tenant, session, now)
    if holder is not None:
        raise SessionBusyError(session, str(holder))


def holder_of(connection: sqlite3.Connection, tenant: str, session: str, now: datetime) -> Owner | None:
    """Who has a session open."""
    row = connection.execute(
        "SELECT host, pid, started, expires_at FROM leases WHERE tenant = ? AND session = ?", (tenant, session)
    ).fetchone()
    if row is None or row[3] <= microseconds(now):
        return None
    holder = Owner(*row[:3])
    return None if holder.is_gone() else holder


def renew(connection: sqlite3.Connection, lease: Lease, now: datetime) -> None:
    """Keep the lease for another while; refused when it is no longer ours."""
    if renew_all(connection, (lease,), now):
        raise SessionLostError(lease.session)


def renew_all(connection: sqlite3.Connection, leases: Iterable[Lease], now: datetime) -> list[Lease]:
    """Keep leases for another while; gives those that are no longer ours."""
    expires_at = microseconds(now + LASTS)
    query = "UPDATE leases SET expires_at = ? WHERE tenant = ? AND session = ? AND token = ?"
    return [lease for lease in leases if not connection.execute(query, (expires_at, *lease.row)).rowcount]


def release(connection: sqlite3.Connection, lease: Lease) -> None:
    """Give the lease back; nothing happens when it is not ours."""
    connection.execute("DELETE FROM leases WHERE tenant = ? AND session = ? AND token = ?", lease.row)
