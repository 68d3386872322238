"""The hand that writes one open session in PostgreSQL.

A connection may break after the database has kept a write and before it could say so. Each write can tell whether that
happened, so that it is repeated when PostgreSQL is back, and still kept once.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from toolcrib.errors import SessionLostError
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.stores import postgres_confirmations as confirmations, postgres_leases as leases, postgres_rows as rows
from toolcrib.stores.leases import Lease
from toolcrib.stores.moments import microseconds
from toolcrib.stores.postgres_news import SessionNews
from toolcrib.stores.record import Confirmation, Refusal, Settled, Step, new_id

if TYPE_CHECKING:
    from psycopg import AsyncConnection


class PostgresWriter:
    """Writes as long as the lease is ours; every write also renews it."""

    def __init__(
        self,
        database: PostgresDatabase,
        lease: Lease,
        clock: Callable[[], datetime],
        lease_now: Callable[[], int | None],
        news: SessionNews,
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

        self._told(await self._database.send(keep))

    async def add_confirmation(self, confirmation: Confirmation) -> None:
        async def keep(connection: "AsyncConnection[Any]") -> bool:
            return await confirmations.add_confirmation(connection, self._lease, confirmation, self._lease_now())

        self._told(await self._database.send(keep))

    async def settle_confirmation(self, id: str, digest: str | None, settled_as: Settled) -> Confirmation | Refusal:
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
        self._told(True)
        return settled

    def _told(self, kept: bool) -> None:
        if not kept:
            raise SessionLostError(self._lease.session)
        self._news.tell(self._lease.tenant, self._lease.session)
