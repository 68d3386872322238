"""The seam of session stores: SQLite implements it for one machine, PostgreSQL for many.

A store speaks for one tenant. `for_tenant` gives the same store speaking for another; no method takes a tenant, so none
can be called with the wrong one.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from toolcrib.errors import StoreError
from toolcrib.settings import is_postgres
from toolcrib.stores.record import (
    BegunCall,
    Confirmation,
    LoggedEvent,
    Refusal,
    Resolution,
    SessionInfo,
    SessionRecord,
    Step,
    now,
)

if TYPE_CHECKING:
    from toolcrib.stores.session import Session


class Store(Protocol):
    """Sessions of one tenant, by id."""

    @property
    def tenant(self) -> str:
        """The tenant of these sessions; empty if there is only one."""
        ...

    def for_tenant(self, tenant: str) -> "Store":
        """The same store, for another tenant."""
        ...

    def open(
        self, session_id: str | None = None, *, create: bool = True, wait_seconds: float = 0, take_over: bool = False
    ) -> "AbstractAsyncContextManager[Session]":
        """The session, opened for writing by one owner at a time; without an id, a new one.

        With `take_over`, whoever has it open loses it, and can write nothing more.

        Raises:
            SessionBusyError: Somebody else has it open, and still had after `wait_seconds`.
            UnknownSessionError: There is none, and `create` is off.
        """
        ...

    async def sessions(self, *, limit: int | None = None) -> tuple[SessionInfo, ...]:
        """The sessions, the last changed first."""
        ...

    async def read(self, session_id: str) -> SessionRecord:
        """A consistent copy of a session, also while it is open."""
        ...

    async def events(self, session_id: str, *, after: int = -1) -> tuple[LoggedEvent, ...]:
        """The session's log after a position."""
        ...

    async def is_open(self, session_id: str) -> bool:
        """Whether it is open for writing, in this process or another."""
        ...

    def follow(
        self, session_id: str, *, after: int = -1, ping_seconds: float = 15
    ) -> AsyncGenerator[LoggedEvent | None]:
        """The session's log after a position, then new events as soon as they are known here.

        It ends when all is told and nobody has the session open, in this process or another; None tells of a silence.
        """
        ...

    async def restore(self, record: SessionRecord, *, overwrite: bool = False) -> None:
        """Store a session that was read from another store; refused if the id exists.

        With `overwrite` it takes the place of that one, unless somebody has it open.
        """
        ...

    async def delete(self, session_id: str) -> None:
        """Delete a session; refused while it is open."""
        ...

    async def purge(self, older_than: timedelta) -> int:
        """Delete all sessions that have not changed for that long and return their number; open ones stay."""
        ...

    async def close(self) -> None:
        """Close the store."""
        ...

    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *raised: object) -> None: ...


class SessionWriter(Protocol):
    """Writes one open session. Each method is one transaction, and fails once the session is lost."""

    async def append(self, step: Step) -> None:
        """Store a step; it is durable when this returns."""
        ...

    async def begin_call(self, call: BegunCall) -> bool:
        """Mark a call as begun; returns False if there is such a mark already."""
        ...

    async def add_confirmation(self, confirmation: Confirmation) -> None:
        """Keep a question to the user."""
        ...

    async def settle_confirmation(self, id: str, digest: str | None, settled_as: Resolution) -> Confirmation | Refusal:
        """Use a confirmation up, if it is pending and, where a digest is given, has that digest."""
        ...


def open_store(place: str | Path, *, tenant: str = "") -> Store:
    """The store at a place: the path of a file, made when it is not there, or the URL of a PostgreSQL database."""
    if is_postgres(str(place)):
        from toolcrib.postgres.sessions import PostgresStore  # late: each store needs its own database only

        return PostgresStore(str(place), tenant=tenant)
    from toolcrib.stores.sqlite.store import SqliteStore  # late, as above

    return SqliteStore(file_of(place), tenant=tenant)


def file_of(place: str | Path) -> Path:
    """The file of a place."""
    scheme, separator, _ = str(place).partition("://")
    if separator and scheme.isalpha():
        raise StoreError(
            f"Sessions cannot be kept in {scheme!r}.",
            hint="Give the path of a file, or postgresql://user@host/database.",
        )
    return Path(place).expanduser()


def shown_place(place: str | Path) -> str:
    """A place as it may be shown: without a password."""
    if not is_postgres(str(place)):
        return str(place)
    from toolcrib.postgres.database import PostgresAddress  # late: needs the driver

    return PostgresAddress.read(str(place)).place


# Following a session's log while somebody else writes it, in this process or another.

PING_SECONDS = 15.0


async def follow(
    store: "Store", session_id: str, *, after: int, ping_seconds: float, poll_seconds: float, news: asyncio.Event
) -> AsyncGenerator[LoggedEvent | None]:
    """Implements `Store.follow`. It looks when `news` is set and every `poll_seconds`: news get lost, holders die."""
    last_sent_at = time.monotonic()
    while True:
        news.clear()
        is_open = await store.is_open(session_id)  # first: what was logged before it was given back is then seen
        for event in await store.events(session_id, after=after):
            after = event.position
            yield event
            last_sent_at = time.monotonic()
        if not is_open:
            return
        silence_left = last_sent_at + ping_seconds - time.monotonic()
        if silence_left <= 0:
            yield None
            last_sent_at = time.monotonic()
            continue
        try:
            async with asyncio.timeout(min(poll_seconds, silence_left)):
                await news.wait()
        except TimeoutError:
            pass


# Administration of a whole store: all tenants, the version of its tables, and how much it contains.


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """What a store contains."""

    engine: str
    place: str  # without a password
    form: int  # 0 when nothing is there yet
    newest_form: int  # that this Toolcrib knows
    bytes: int = 0
    tenants: int = 0
    sessions: int = 0
    messages: int = 0
    events: int = 0
    open_sessions: int = 0  # that somebody writes now
    open_questions: int = 0  # that a user may still answer


class StoreAdmin(Protocol):
    """Administers a whole store, with all tenants."""

    def store(self, tenant: str) -> Store:
        """The sessions of one tenant."""
        ...

    async def tenants(self) -> tuple[str, ...]:
        """Those that have sessions."""
        ...

    async def status(self) -> StoreStatus:
        """What is in it; only looks, also at what an older version wrote."""
        ...

    async def migrate(self) -> None:
        """Make the tables, or bring them to the newest form."""
        ...

    async def tidy(self) -> int:
        """Forget the leases of the dead, and give back what space can be given; how many leases these were."""
        ...

    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *raised: object) -> None: ...


def open_admin(place: str | Path, *, clock: Callable[[], datetime] = now) -> StoreAdmin:
    """Administration of the store at this place (see `open_store`)."""
    if is_postgres(str(place)):
        from toolcrib.postgres.sessions import PostgresStoreAdmin  # late: each needs its own database only

        return PostgresStoreAdmin(str(place), clock)
    from toolcrib.stores.sqlite.store import SqliteStoreAdmin  # late, as above

    return SqliteStoreAdmin(file_of(place), clock)
