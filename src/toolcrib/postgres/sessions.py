"""Sessions in PostgreSQL: for many replicas of a server on many machines, all of which see the same."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from copy import copy
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, LiteralString, Self

from toolcrib.errors import SessionBusyError, SessionLostError, StoreError
from toolcrib.postgres import session_rows as confirmations, session_rows as leases, session_rows as rows
from toolcrib.postgres.database import ANSWER_SECONDS, PostgresDatabase
from toolcrib.postgres.migrations import version_of
from toolcrib.postgres.notifications import SessionNotifications
from toolcrib.postgres.session_rows import NOW, SESSIONS
from toolcrib.stores.lease import Heartbeat, Lease, Owner, acquire, unreleased
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
from toolcrib.stores.store import PING_SECONDS, StoreStatus, follow

if TYPE_CHECKING:
    from psycopg import AsyncConnection


# Writing to one open session


class PostgresWriter:
    """Writes as long as the lease is ours; every write also renews it."""

    def __init__(
        self,
        database: PostgresDatabase,
        lease: Lease,
        clock: Callable[[], datetime],
        lease_now: Callable[[], int | None],
        news: SessionNotifications,
    ) -> None:
        self._database = database
        self._lease = lease
        self._clock = clock
        self._lease_now = lease_now
        self._news = news

    async def append(self, step: Step) -> None:
        at, write, again = microseconds(self._clock()), new_id(), False

        async def keep(connection: "AsyncConnection[Any]") -> bool:
            nonlocal again
            if again and await leases.wrote(connection, self._lease, write):
                return True
            again = True
            return await rows.insert_step(connection, self._lease, step, at=at, now=self._lease_now(), write=write)

        self._announce(await self._database.send(keep))

    async def begin_call(self, call: BegunCall) -> bool:
        again = False

        async def mark(connection: "AsyncConnection[Any]") -> bool | None:
            nonlocal again
            tried, again = again, True
            return await leases.begin_call(connection, self._lease, call, self._lease_now(), again=tried)

        begun = await self._database.send(mark)
        if begun is None:
            raise SessionLostError(self._lease.session)
        return begun

    async def add_confirmation(self, confirmation: Confirmation) -> None:
        async def keep(connection: "AsyncConnection[Any]") -> bool:
            return await confirmations.add_confirmation(connection, self._lease, confirmation, self._lease_now())

        self._announce(await self._database.send(keep))

    async def settle_confirmation(self, id: str, digest: str | None, settled_as: Resolution) -> Confirmation | Refusal:
        at, again = microseconds(self._clock()), False

        async def settle(connection: "AsyncConnection[Any]") -> Confirmation | Refusal:
            nonlocal again
            if not await leases.renew(connection, self._lease, self._lease_now()):
                raise SessionLostError(self._lease.session)
            settled = await confirmations.settle_confirmation(
                connection, self._lease, id, digest, settled_as, at=at, again=again
            )
            again = isinstance(settled, Confirmation)  # it is, unless the connection breaks before that is kept
            return settled

        settled = await self._database.write(settle)
        self._announce(True)
        return settled

    def _announce(self, kept: bool) -> None:
        if not kept:
            raise SessionLostError(self._lease.session)
        self._news.publish(self._lease.tenant, self._lease.session)


POLL_SECONDS = 5.0  # when no news come: they may be lost, or the holder of the session dead

logger = logging.getLogger(__name__)


class PostgresStore:
    """A `Store` in a database. Use it in `async with`, or `close` it."""

    def __init__(
        self,
        database: PostgresDatabase | str,
        *,
        tenant: str = "",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """Name the database; the first use connects to it and creates the tables.

        Args:
            database: Its URL, or one that others use too; then it is theirs to close.
            tenant: Whose sessions these are.
            clock: What time it is, with a time zone. Without one it is this machine's for what is shown, and the
                database's for what replicas must agree on.
        """
        self._tenant = checked_tenant(tenant)
        self._clock = clock or now
        self._has_own_clock = clock is not None
        self._closes_database = isinstance(database, str)
        self._database = (
            PostgresDatabase(database, answer_seconds=ANSWER_SECONDS) if isinstance(database, str) else database
        )
        self._database.require(SESSIONS)
        self._news = SessionNotifications(self._database)
        self._heartbeat = Heartbeat(self._renew)
        self._is_root = True

    @property
    def tenant(self) -> str:
        return self._tenant

    def for_tenant(self, tenant: str) -> "PostgresStore":
        """The same database for another tenant; closing the first store closes both."""
        other = copy(self)
        other._tenant = checked_tenant(tenant)
        other._is_root = False
        return other

    @asynccontextmanager
    async def open(
        self, session_id: str | None = None, *, create: bool = True, wait_seconds: float = 0, take_over: bool = False
    ) -> AsyncGenerator[Session]:
        """The session, opened for writing by one owner at a time (see `Store.open`)."""
        id = new_id() if session_id is None else checked_id(session_id)
        lease = Lease.new(self._tenant, id)
        try:
            record = await acquire(
                lambda: shielded(self._begin(lease, create=create, take_over=take_over)), wait_seconds
            )
        except asyncio.CancelledError:
            await self._end(lease)  # it may have been taken just then
            raise
        writer = PostgresWriter(self._database, lease, self._clock, self._lease_now, self._news)
        session = Session(record, writer, self._clock, tenant=self._tenant)
        self._heartbeat.add(lease, session.mark_lost)
        try:
            yield session
        finally:
            self._heartbeat.remove(lease)
            await self._end(lease)

    async def _begin(self, lease: Lease, *, create: bool, take_over: bool) -> SessionRecord:
        async def take(connection: "AsyncConnection[Any]") -> SessionRecord | SessionBusyError:
            await leases.lock(connection, lease.tenant, lease.session)
            if not await rows.has_session(connection, lease.tenant, lease.session):
                if not create:
                    raise await rows.unknown_session(connection, lease.tenant, lease.session)
                at = self._clock()
                fresh = SessionRecord(id=lease.session, created_at=at, updated_at=at)
                await rows.insert_session(connection, lease.tenant, fresh)
            try:
                await leases.take(connection, lease, self._lease_now(), by_force=take_over)
            except SessionBusyError as busy:
                if await leases.shorten(connection, lease, self._lease_now()):
                    return busy  # not raised here: that would undo it
                raise
            await leases.raise_fence(connection, lease.tenant, lease.session)
            return await rows.select_session(connection, lease.tenant, lease.session, events=False)

        taken = await self._database.write(take)
        if isinstance(taken, SessionBusyError):
            raise taken
        return taken

    async def _end(self, lease: Lease) -> None:
        try:
            await shielded(self._database.send(lambda connection: leases.release(connection, lease)))
            self._news.publish(lease.tenant, lease.session)
        except StoreError as error:  # must not hide what happened inside; elsewhere the lease runs out by itself
            unreleased.add(lease.token)
            logger.warning("The session %r could not be given back: %s", lease.session, error)

    def _renew(self, held: tuple[Lease, ...]) -> list[Lease]:
        with self._database.connected_in_this_thread() as connection:
            return leases.renew_all(connection, held, self._lease_now())

    def _lease_now(self) -> int | None:
        """The time for leases; None means the database's clock."""
        return microseconds(self._clock()) if self._has_own_clock else None

    async def sessions(self, *, limit: int | None = None) -> tuple[SessionInfo, ...]:
        """The sessions, the last changed first."""
        return await self._database.send(lambda connection: rows.select_infos(connection, self._tenant, limit=limit))

    async def read(self, session_id: str) -> SessionRecord:
        """A consistent copy of a session, also while it is open."""
        id = checked_id(session_id)
        return await self._database.read(
            lambda connection: rows.select_session(connection, self._tenant, id, events=True)
        )

    async def events(self, session_id: str, *, after: int = -1) -> tuple[LoggedEvent, ...]:
        """The session's log after a position."""
        id = checked_id(session_id)

        async def read(connection: "AsyncConnection[Any]") -> tuple[LoggedEvent, ...]:
            found = await rows.select_events(connection, self._tenant, id, after=min(after, 2**31 - 1))
            if not found and not await rows.has_session(connection, self._tenant, id):
                raise await rows.unknown_session(connection, self._tenant, id)
            return found

        return await self._database.send(read)

    async def is_open(self, session_id: str) -> bool:
        """Whether it is open, on this replica or another."""
        id = checked_id(session_id)
        now = self._lease_now()
        holder = await self._database.send(lambda connection: leases.holder_of(connection, self._tenant, id, now))
        return holder is not None

    async def follow(
        self, session_id: str, *, after: int = -1, ping_seconds: float = PING_SECONDS
    ) -> AsyncGenerator[LoggedEvent | None]:
        """The session's log after a position, then new events while the session is open."""
        async with self._news.subscribe(self._tenant, checked_id(session_id)) as news:
            events = follow(
                self, session_id, after=after, ping_seconds=ping_seconds, poll_seconds=POLL_SECONDS, news=news
            )
            async with aclosing(events) as following:
                async for event in following:
                    yield event

    async def restore(self, record: SessionRecord, *, overwrite: bool = False) -> None:
        """Store a session that was read from another store; refused if the id exists."""
        id = checked_id(record.id)
        again = False

        async def insert(connection: "AsyncConnection[Any]") -> None:
            nonlocal again
            await leases.lock(connection, self._tenant, id)
            if overwrite:
                await leases.refuse_busy(connection, self._tenant, id, self._lease_now())
                await rows.delete_session(connection, self._tenant, id)
            if await rows.has_session(connection, self._tenant, id):
                if again and await rows.select_session(connection, self._tenant, id, events=True) == record:
                    return  # kept before the connection broke
                raise StoreError(
                    f"There is a session {id!r} already.", hint="Delete it, or give the new one another id."
                )
            again = True
            await rows.insert_session(connection, self._tenant, record)

        await shielded(self._database.write(insert))

    async def delete(self, session_id: str) -> None:
        """Delete a session; refused while it is open."""
        id = checked_id(session_id)
        again = False

        async def remove(connection: "AsyncConnection[Any]") -> None:
            nonlocal again
            await leases.lock(connection, self._tenant, id)
            await leases.refuse_busy(connection, self._tenant, id, self._lease_now())
            if not await rows.delete_session(connection, self._tenant, id) and not again:
                raise await rows.unknown_session(connection, self._tenant, id)
            again = True

        await shielded(self._database.write(remove))

    async def purge(self, older_than: timedelta) -> int:
        """Delete all sessions that have not changed for that long and return their number; open ones stay."""
        before = microseconds(self._clock() - older_than)
        ids = await self._database.send(lambda connection: rows.select_ids_before(connection, self._tenant, before))
        return sum([await shielded(self._purge_one(id, before)) for id in ids])

    async def _purge_one(self, id: str, before: int) -> int:
        async def remove(connection: "AsyncConnection[Any]") -> int:
            await leases.lock(connection, self._tenant, id)
            if not await rows.is_older(connection, self._tenant, id, before):
                return 0
            try:
                await leases.refuse_busy(connection, self._tenant, id, self._lease_now())
            except SessionBusyError:
                return 0
            return await rows.delete_session(connection, self._tenant, id)

        return await self._database.write(remove)

    async def close(self) -> None:
        """Close the database."""
        if self._is_root:
            await self._news.close()
            if self._closes_database:
                await shielded(self._database.close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"PostgresStore({self._database.place!r}, tenant={self._tenant!r})"


# A PostgreSQL database as its operator sees it.

_COUNTS: dict[str, LiteralString] = {
    "tenants": "SELECT count(DISTINCT tenant) FROM toolcrib_sessions",
    "sessions": "SELECT count(*) FROM toolcrib_sessions",
    "messages": "SELECT count(*) FROM toolcrib_messages",
    "events": "SELECT count(*) FROM toolcrib_events",
    "bytes": "SELECT sum(pg_total_relation_size(to_regclass(name)))::bigint FROM unnest(ARRAY['toolcrib_sessions',"
    " 'toolcrib_messages', 'toolcrib_events', 'toolcrib_confirmations', 'toolcrib_calls', 'toolcrib_leases'])"
    " AS held (name)",
}


class PostgresStoreAdmin:
    """The `StoreAdmin` of a PostgreSQL database."""

    def __init__(self, url: str, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._looks = PostgresDatabase(url, most_connections=2)  # without tables of its own: it changes nothing
        self._database = PostgresDatabase(url, answer_seconds=ANSWER_SECONDS)

    def store(self, tenant: str) -> PostgresStore:
        """The sessions of one tenant."""
        return PostgresStore(self._database, tenant=tenant)

    async def tenants(self) -> tuple[str, ...]:
        """The tenants that have sessions."""

        async def read(connection: "AsyncConnection[Any]") -> tuple[str, ...]:
            if not await version_of(connection, SESSIONS):
                return ()
            rows = await connection.execute("SELECT DISTINCT tenant FROM toolcrib_sessions ORDER BY tenant")
            return tuple([tenant for (tenant,) in await rows.fetchall()])

        return await self._looks.read(read)

    async def status(self) -> StoreStatus:
        """What the store contains; changes nothing."""

        async def read(connection: "AsyncConnection[Any]") -> StoreStatus:
            form = await version_of(connection, SESSIONS)
            counts: dict[str, int] = {}
            if form:
                counts = {name: await _number(connection, query) for name, query in _COUNTS.items()}
                query = "SELECT count(*) FROM toolcrib_confirmations WHERE settled_as IS NULL AND expires_at > %s"
                counts["open_questions"] = await _number(connection, query, (microseconds(self._clock()),))
                counts["open_sessions"] = len(await _holders(connection, gone=False))
            return StoreStatus(
                engine="PostgreSQL", place=self._looks.place, form=form, newest_form=SESSIONS.version, **counts
            )

        return await self._looks.read(read)

    async def migrate(self) -> None:
        """Create the tables, or migrate them to the newest version."""
        self._database.require(SESSIONS)
        async with self._database.connection():
            pass

    async def tidy(self) -> int:
        """Delete the leases of processes that died. PostgreSQL frees space by itself (autovacuum)."""
        self._database.require(SESSIONS)

        async def remove(connection: "AsyncConnection[Any]") -> int:
            dead = await _holders(connection, gone=True)
            query = "DELETE FROM toolcrib_leases WHERE token = ANY(%s)"
            return (await connection.execute(query, (dead,))).rowcount

        return await self._database.write(remove)

    async def close(self) -> None:
        await self._looks.close()
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()


async def _number(connection: "AsyncConnection[Any]", query: LiteralString, values: tuple[object, ...] = ()) -> int:
    row = await (await connection.execute(query, values)).fetchone()
    return row[0] if row and row[0] else 0


async def _holders(connection: "AsyncConnection[Any]", *, gone: bool) -> list[str]:
    """The tokens of leases whose holder is alive, or of those whose holder is gone."""
    rows = await connection.execute(
        f"SELECT token, expires_at <= {NOW}, host, pid, started FROM toolcrib_leases", {"now": None}
    )
    return [token for token, is_over, *owner in await rows.fetchall() if (is_over or Owner(*owner).is_gone()) is gone]
