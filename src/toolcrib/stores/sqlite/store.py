"""Sessions in a SQLite file: for one machine, any number of processes, no server."""

import asyncio
import logging
import os
import sqlite3
import sys
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from toolcrib.errors import SessionBusyError, SessionLostError, StoreError
from toolcrib.stores.lease import AHEAD, LEASE_DURATION, Heartbeat, Lease, Owner, acquire, unreleased
from toolcrib.stores.record import (
    BegunCall,
    Confirmation,
    LoggedEvent,
    Refusal,
    Resolution,
    SessionInfo,
    SessionRecord,
    Step,
    checked_id,
    checked_tenant,
    microseconds,
    new_id,
    now,
)
from toolcrib.stores.session import Session, shielded
from toolcrib.stores.sqlite import rows
from toolcrib.stores.sqlite.file import CURRENT, SqliteFile, connect_to_read, translated_errors, version_of
from toolcrib.stores.sqlite.integrity import check
from toolcrib.stores.store import PING_SECONDS, StoreStatus, follow

leases = sys.modules[__name__]

# The leases of a SQLite store: one row a session.


def take(connection: sqlite3.Connection, lease: Lease, now: datetime, *, by_force: bool = False) -> None:
    """Take the lease; refused if somebody else has it, unless by force."""
    if not by_force:
        refuse_busy(connection, lease.tenant, lease.session, now)
    rows.LEASES.insert(connection, [_row(lease, now)], conflict="REPLACE")


def _row(lease: Lease, now: datetime) -> rows.LeaseRow:
    us = Owner.here()
    return rows.LeaseRow(*lease.row, us.host, us.pid, us.started, microseconds(now + LEASE_DURATION))


def _held(connection: sqlite3.Connection, tenant: str, session: str) -> rows.LeaseRow | None:
    return next(rows.LEASES.select(connection, "tenant = ? AND session = ?", (tenant, session)), None)


def refuse_busy(connection: sqlite3.Connection, tenant: str, session: str, now: datetime) -> None:
    """Raise an error if the session is open."""
    holder = holder_of(connection, tenant, session, now)
    if holder is not None:
        raise SessionBusyError(session, str(holder))


def holder_of(connection: sqlite3.Connection, tenant: str, session: str, now: datetime) -> Owner | None:
    """The holder of a session's lease."""
    row = _held(connection, tenant, session)
    if row is None or row.token in unreleased or row.expires_at <= microseconds(now):
        return None
    holder = Owner(row.host, row.pid, row.started)
    return None if holder.is_gone() else holder


def shorten(connection: sqlite3.Connection, lease: Lease, now: datetime) -> bool:
    """Let a lease that was written under a clock ahead of ours run out like any other, unless its holder renews it."""
    row = _held(connection, lease.tenant, lease.session)
    if row is None or row.expires_at <= microseconds(now + AHEAD):
        return False
    return rows.LEASES.update(connection, row._replace(expires_at=microseconds(now + LEASE_DURATION)))


def renew(connection: sqlite3.Connection, lease: Lease, now: datetime) -> None:
    """Renew the lease; refused if it is no longer ours."""
    if renew_all(connection, (lease,), now):
        raise SessionLostError(lease.session)


def renew_all(connection: sqlite3.Connection, leases: Iterable[Lease], now: datetime) -> list[Lease]:
    """Renew leases; returns those that are no longer ours."""
    lost: list[Lease] = []
    for lease in leases:
        row = _held(connection, lease.tenant, lease.session)
        if row is None or row.token != lease.token:
            lost.append(lease)
        else:
            rows.LEASES.update(connection, row._replace(expires_at=microseconds(now + LEASE_DURATION)))
    return lost


def release(connection: sqlite3.Connection, lease: Lease) -> None:
    """Release the lease; does nothing if it is not ours."""
    connection.execute("DELETE FROM leases WHERE tenant = ? AND session = ? AND token = ?", lease.row)


POLL_SECONDS = 0.2  # for what another process wrote: a file tells nobody

logger = logging.getLogger(__name__)
Clock = Callable[[], datetime]


class SqliteStore:
    """A `Store` in one file. Use it in `async with`, or `close` it."""

    def __init__(
        self, path: str | Path | SqliteFile | None, *, tenant: str = "", durable: bool = True, clock: Clock = now
    ) -> None:
        """The file is opened, or created, at the first use. Without one, sessions last as long as the store.

        Args:
            path: The file, or one that others use too. It belongs on a disk of this machine: SQLite's locks do not
                work over a network.
            tenant: Whose sessions these are.
            durable: Whether a step outlives a power cut; a killed process it outlives in any case.
            clock: What time it is, with a time zone.
        """
        self._tenant = checked_tenant(tenant)
        self._clock = clock
        file = path if isinstance(path, SqliteFile) else None
        self._file = file or SqliteFile(Path(path) if isinstance(path, str | Path) else None, durable=durable)
        self._heartbeat = Heartbeat(self._renew)
        self._owns_file = file is None

    @property
    def tenant(self) -> str:
        return self._tenant

    def for_tenant(self, tenant: str) -> "SqliteStore":
        """The same file for another tenant; closing the first store closes both."""
        other = copy(self)
        other._tenant = checked_tenant(tenant)
        other._owns_file = False
        return other

    @asynccontextmanager
    async def open(
        self, session_id: str | None = None, *, create: bool = True, wait_seconds: float = 0, take_over: bool = False
    ) -> AsyncGenerator[Session]:
        """The session, opened for writing by one owner at a time (see `Store.open`)."""
        id = new_id() if session_id is None else checked_id(session_id)
        lease = Lease.new(self._tenant, id)
        try:
            record = await acquire(lambda: self._begin(lease, create=create, take_over=take_over), wait_seconds)
        except asyncio.CancelledError:
            await self._end(lease)  # it may have been taken just then
            raise
        session = Session(record, _Writer(self._file, lease, self._clock), self._clock, tenant=self._tenant)
        self._heartbeat.add(lease, session.mark_lost)
        try:
            yield session
        finally:
            self._heartbeat.remove(lease)
            await self._end(lease)

    async def _begin(self, lease: Lease, *, create: bool, take_over: bool) -> SessionRecord:
        def take(connection: sqlite3.Connection) -> SessionRecord | SessionBusyError:
            now = self._clock()
            if rows.find_session(connection, self._tenant, lease.session) is None:
                if not create:
                    raise rows.unknown_session(connection, self._tenant, lease.session)
                fresh = SessionRecord(id=lease.session, created_at=now, updated_at=now)
                rows.insert_session(connection, self._tenant, fresh)
            try:
                leases.take(connection, lease, now, by_force=take_over)
            except SessionBusyError as busy:
                if leases.shorten(connection, lease, now):
                    return busy  # not raised here: that would undo it
                raise
            rows.raise_fence(connection, self._tenant, lease.session)
            return rows.select_session(connection, self._tenant, lease.session, events=False)

        taken = await shielded(self._file.write(take))
        if isinstance(taken, SessionBusyError):
            raise taken
        return taken

    async def _end(self, lease: Lease) -> None:
        try:
            await shielded(self._file.write(lambda connection: leases.release(connection, lease)))
        except StoreError as error:  # must not hide what happened inside; elsewhere the lease runs out by itself
            unreleased.add(lease.token)
            logger.warning("The session %r could not be given back: %s", lease.session, error)

    def _renew(self, held: tuple[Lease, ...]) -> list[Lease]:
        return self._file.write_soon(lambda connection: leases.renew_all(connection, held, self._clock())).result()

    async def sessions(self, *, limit: int | None = None) -> tuple[SessionInfo, ...]:
        """The sessions, the last changed first."""
        return await self._file.read(lambda connection: rows.select_infos(connection, self._tenant, limit=limit))

    async def read(self, session_id: str) -> SessionRecord:
        """A consistent copy of a session, also while it is open."""
        id = checked_id(session_id)
        return await self._file.read(lambda connection: rows.select_session(connection, self._tenant, id, events=True))

    async def events(self, session_id: str, *, after: int = -1) -> tuple[LoggedEvent, ...]:
        """The session's log after a position."""
        id = checked_id(session_id)
        return await self._file.read(
            lambda connection: rows.select_events(connection, self._tenant, id, after=min(after, 2**63 - 1))
        )

    async def is_open(self, session_id: str) -> bool:
        """Whether it is open, in this process or another."""
        id = checked_id(session_id)
        holder = await self._file.read(lambda connection: leases.holder_of(connection, self._tenant, id, self._clock()))
        return holder is not None

    def follow(
        self, session_id: str, *, after: int = -1, ping_seconds: float = PING_SECONDS
    ) -> AsyncGenerator[LoggedEvent | None]:
        """The session's log after a position, then new events while the session is open."""
        news = asyncio.Event()
        return follow(self, session_id, after=after, ping_seconds=ping_seconds, poll_seconds=POLL_SECONDS, news=news)

    async def restore(self, record: SessionRecord, *, overwrite: bool = False) -> None:
        """Store a session that was read from another store; refused if the id exists."""
        id = checked_id(record.id)

        def insert(connection: sqlite3.Connection) -> None:
            if overwrite:
                leases.refuse_busy(connection, self._tenant, id, self._clock())
                rows.delete_session(connection, self._tenant, id)
            if rows.find_session(connection, self._tenant, id) is not None:
                raise StoreError(
                    f"There is a session {id!r} already.", hint="Delete it, or give the new one another id."
                )
            rows.insert_session(connection, self._tenant, record)

        await shielded(self._file.write(insert))

    async def delete(self, session_id: str) -> None:
        """Delete a session; refused while it is open."""
        id = checked_id(session_id)

        def remove(connection: sqlite3.Connection) -> None:
            leases.refuse_busy(connection, self._tenant, id, self._clock())
            if not rows.delete_session(connection, self._tenant, id):
                raise rows.unknown_session(connection, self._tenant, id)

        await shielded(self._file.write(remove))

    async def purge(self, older_than: timedelta) -> int:
        """Delete all sessions that have not changed for that long and return their number; open ones stay."""

        def remove(connection: sqlite3.Connection) -> int:
            now = self._clock()
            removed = 0
            for id in rows.select_ids_before(connection, self._tenant, now - older_than):
                try:
                    leases.refuse_busy(connection, self._tenant, id, now)
                except SessionBusyError:
                    continue
                removed += rows.delete_session(connection, self._tenant, id)
            return removed

        return await shielded(self._file.write(remove))

    async def close(self) -> None:
        """Close the file."""
        if self._owns_file:
            await shielded(self._file.close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"SqliteStore({self._file.place!r}, tenant={self._tenant!r})"


class _Writer:
    """Writes one session as long as its lease is ours; every write also renews it."""

    def __init__(self, file: SqliteFile, lease: Lease, clock: Clock) -> None:
        self._file = file
        self._lease = lease
        self._clock = clock

    async def append(self, step: Step) -> None:
        def write(connection: sqlite3.Connection) -> None:
            now = self._renew_lease(connection)
            rows.insert_step(connection, self._lease.tenant, self._lease.session, step, now)

        await self._file.write(write)

    async def begin_call(self, call: BegunCall) -> bool:
        def write(connection: sqlite3.Connection) -> bool:
            self._renew_lease(connection)
            return rows.insert_call(connection, self._lease.tenant, self._lease.session, call)

        return await self._file.write(write)

    async def add_confirmation(self, confirmation: Confirmation) -> None:
        def write(connection: sqlite3.Connection) -> None:
            self._renew_lease(connection)
            rows.insert_confirmation(connection, self._lease.tenant, self._lease.session, confirmation)

        await self._file.write(write)

    async def settle_confirmation(self, id: str, digest: str | None, settled_as: Resolution) -> Confirmation | Refusal:
        def write(connection: sqlite3.Connection) -> Confirmation | Refusal:
            now = self._renew_lease(connection)
            lease = self._lease
            return rows.settle_confirmation(connection, lease.tenant, lease.session, id, digest, settled_as, now)

        return await self._file.write(write)

    def _renew_lease(self, connection: sqlite3.Connection) -> datetime:
        now = self._clock()
        leases.renew(connection, self._lease, now)
        return now


# Administration of a SQLite store.


class SqliteStoreAdmin:
    """The `StoreAdmin` of a SQLite file."""

    def __init__(self, path: Path, clock: Callable[[], datetime], *, rescue: bool = False) -> None:
        """With `rescue` the file is only read, and undamaged sessions are returned however damaged it is."""
        self._path = path
        self._clock = clock
        self._file = SqliteFile(path, rescue=rescue)

    def store(self, tenant: str) -> SqliteStore:
        """The sessions of one tenant."""
        return SqliteStore(self._file, tenant=tenant, clock=self._clock)

    async def tenants(self) -> tuple[str, ...]:
        """The tenants that have sessions."""
        if not self._path.exists():
            return ()  # only looking must not make a file
        query = "SELECT DISTINCT tenant FROM sessions ORDER BY tenant"
        return await self._file.read(lambda connection: tuple([row[0] for row in connection.execute(query)]))

    async def status(self) -> StoreStatus:
        """What the store contains, also in the form of an older version; changes nothing."""
        return await asyncio.to_thread(self._status)

    def _status(self) -> StoreStatus:
        empty = StoreStatus(engine="SQLite", place=str(self._path), form=0, newest_form=CURRENT)
        if not self._path.exists():
            return empty
        with (
            translated_errors(str(self._path)),
            closing(connect_to_read(self._path)) as connection,
        ):
            form = version_of(connection, str(self._path))
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            counts = {
                table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("sessions", "messages", "events")
                if table in tables
            }
            now = microseconds(self._clock())
            if form:
                counts["tenants"] = connection.execute("SELECT count(DISTINCT tenant) FROM sessions").fetchone()[0]
                counts["open_sessions"] = len(_holders(connection, now, gone=False))
                counts["open_questions"] = connection.execute(
                    "SELECT count(*) FROM confirmations WHERE settled_as IS NULL AND expires_at > ?", (now,)
                ).fetchone()[0]
        size = sum(os.path.getsize(one) for one in self._path.parent.glob(f"{self._path.name}*") if one.is_file())
        return replace(empty, form=form, bytes=size, **counts)

    async def session_keys(self) -> tuple[tuple[str, str], ...]:
        """Tenant and id of every session that can be found in the file, also when parts of it cannot be read."""
        return await self._file.read(_session_keys)

    async def check_structure(self) -> None:
        """Refuse a file whose structure is damaged anywhere, however large it is."""
        await self._file.read(lambda connection: check(connection, whole=True))

    async def migrate(self) -> None:
        """Create the tables, or migrate them to the newest version."""
        await self._file.read(lambda _: None)

    async def tidy(self) -> int:
        """Delete the leases of processes that ended, and free the space of deleted rows."""

        def remove(connection: sqlite3.Connection) -> int:
            dead = _holders(connection, microseconds(self._clock()), gone=True)
            connection.executemany("DELETE FROM leases WHERE tenant = ? AND session = ?", dead)
            return len(dead)

        removed = await self._file.write(remove)
        await self._file.outside_transactions("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
        return removed

    async def close(self) -> None:
        await self._file.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()


def _holders(connection: sqlite3.Connection, now: int, *, gone: bool) -> list[tuple[str, str]]:
    """The sessions whose holder is alive, or those whose holder is gone."""
    held = connection.execute("SELECT tenant, session, expires_at, host, pid, started FROM leases").fetchall()
    return [
        (tenant, session)
        for tenant, session, expires_at, *owner in held
        if (expires_at <= now or Owner(*owner).is_gone()) is gone
    ]


def _session_keys(connection: sqlite3.Connection) -> tuple[tuple[str, str], ...]:
    found: dict[tuple[str, str], None] = {}
    for direction in ("ASC", "DESC"):  # from both ends up to what cannot be read
        try:
            query = f"SELECT tenant, id FROM sessions NOT INDEXED ORDER BY rowid {direction}"
            for key in connection.execute(query):
                found[key] = None
        except sqlite3.DatabaseError:
            continue
        break
    return tuple(found)
