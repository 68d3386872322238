"""Approvals that gateways on several machines share, in PostgreSQL: what is approved for one is approved for all.

A gateway asks for approvals while it serves, and must not wait for a database. So they are held in memory, and a thread
with an event loop of its own keeps them current: it hears what others approve and reads it; `reread` hands it over.
"""

import asyncio
import json
import logging
import sys
import threading
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from toolcrib.catalog.approvals import Pin
from toolcrib.errors import GatewayError, ToolcribError
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.migrations import Component, Migration, version_of
from toolcrib.postgres.notifications import Listener

if TYPE_CHECKING:
    from psycopg import AsyncConnection

rows = sys.modules[__name__]

# Approvals in PostgreSQL: the tables, and what is read and written there. Every key begins with a lock's name.

CHANNEL = "toolcrib_approvals"
PinState = Literal["approved", "waiting"]

_KEY = 'text COLLATE "C" NOT NULL'
APPROVALS = Component(
    "approvals",
    (
        Migration(
            1,
            (
                f"CREATE TABLE toolcrib_locks (name {_KEY} PRIMARY KEY, awaited text[] NOT NULL,"
                " revision bigint NOT NULL DEFAULT 0)",
                f"""CREATE TABLE toolcrib_lock_pins (
                    lock {_KEY} REFERENCES toolcrib_locks (name) ON DELETE CASCADE, state {_KEY}, tool {_KEY},
                    source text NOT NULL, sha256 text NOT NULL, definition text NOT NULL,
                    PRIMARY KEY (lock, state, tool))""",
            ),
        ),
    ),
)


async def insert_lock(connection: "AsyncConnection[Any]", name: str, awaited: Iterable[str]) -> None:
    """Create a lock, unless another gateway was faster."""
    query = "INSERT INTO toolcrib_locks (name, awaited) VALUES (%s, %s) ON CONFLICT DO NOTHING"
    await connection.execute(query, (name, sorted(awaited)))


async def select_lock(
    connection: "AsyncConnection[Any]", name: str, *, turn: bool = False
) -> tuple[int, set[str]] | None:
    """A lock's revision, and the sources whose first list has not come yet; None when there is no such lock.

    With `turn`, others who want to change it wait until this transaction ends.
    """
    query = "SELECT revision, awaited FROM toolcrib_locks WHERE name = %s"
    found = await connection.execute(query + " FOR UPDATE" if turn else query, (name,))
    row = await found.fetchone()
    return None if row is None else (row[0], set(row[1]))


async def select_pins(connection: "AsyncConnection[Any]", name: str, state: PinState) -> dict[str, Pin]:
    """The definitions that were approved, or that wait for approval."""
    rows = await connection.execute(
        "SELECT tool, source, sha256, definition FROM toolcrib_lock_pins WHERE lock = %s AND state = %s ORDER BY tool",
        (name, state),
    )
    pins: dict[str, Pin] = {}
    for tool, source, digest, definition in await rows.fetchall():
        pins[tool] = Pin(source, json.loads(definition))
        if pins[tool].digest != digest:
            raise GatewayError(
                f"The approval of {tool!r} was changed by hand: its hash does not fit its definition.",
                hint="Restore the table toolcrib_lock_pins from a backup, or remove the row and approve the tool anew.",
            )
    return pins


async def upsert_pins(connection: "AsyncConnection[Any]", name: str, state: PinState, pins: Mapping[str, Pin]) -> None:
    """Store definitions, in place of older ones of the same tools."""
    await connection.execute(
        "INSERT INTO toolcrib_lock_pins (lock, state, tool, source, sha256, definition)"
        " SELECT %s, %s, * FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[])"
        " ON CONFLICT (lock, state, tool) DO UPDATE SET source = excluded.source, sha256 = excluded.sha256,"
        " definition = excluded.definition",
        (
            name,
            state,
            list(pins),
            [pin.source for pin in pins.values()],
            [pin.digest for pin in pins.values()],
            [json.dumps(dict(pin.definition)) for pin in pins.values()],
        ),
    )


async def approve(connection: "AsyncConnection[Any]", name: str, pins: Mapping[str, Pin]) -> int:
    """Approve definitions: their sources are no longer awaited. Returns the lock's new revision."""
    updated = await connection.execute(
        "UPDATE toolcrib_locks SET revision = revision + 1, awaited ="
        " ARRAY(SELECT source FROM unnest(awaited) AS held (source) WHERE source <> ALL(%s::text[]))"
        " WHERE name = %s RETURNING revision",
        (sorted({pin.source for pin in pins.values()}), name),
    )
    row = await updated.fetchone()
    await upsert_pins(connection, name, "approved", pins)
    await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, name))  # heard when this is kept
    return row[0] if row else 0


async def replace_waiting(
    connection: "AsyncConnection[Any]", name: str, pins: Mapping[str, Pin], sources: Iterable[str]
) -> None:
    """Replace the waiting definitions of these sources."""
    await connection.execute(
        "DELETE FROM toolcrib_lock_pins WHERE lock = %s AND state = 'waiting' AND source = ANY(%s)",
        (name, sorted(sources)),
    )
    await upsert_pins(connection, name, "waiting", pins)


WAIT_SECONDS = 20.0

logger = logging.getLogger(__name__)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class State:
    """All approvals at one moment."""

    revision: int = 0
    pins: dict[str, Pin] = field(default_factory=dict[str, Pin])
    awaited: set[str] = field(default_factory=set[str])


class PostgresApprovals:
    """The approvals of one name in one database (see `Approvals`)."""

    def __init__(self, url: str, *, keep: bool) -> None:
        address, _, self.name = url.partition("#")
        self.pins: dict[str, Pin] = {}
        self.awaited: set[str] = set()
        self.keeps = keep
        self._revision = 0
        self._database = PostgresDatabase(address, most_connections=2)
        self._fresh: State | None = None
        self._changed = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="toolcrib-approvals", daemon=True)
        self._following: asyncio.Task[None] | None = None

    @classmethod
    def open(cls, url: str, sources: Iterable[str] = (), *, keep: bool = True) -> "PostgresApprovals":
        """The lock of this name. A missing one is created: then the first list of these sources is trusted.

        Without `keep` it only looks: nothing is written.
        """
        lock = cls(url, keep=keep)
        lock._thread.start()
        try:
            lock._take(lock._wait(lock._begin(set(sources))))
        except BaseException:
            lock.close()
            raise
        return lock

    def approves(self, name: str, pin: Pin) -> bool:
        """Whether somebody approved this definition of this tool, from this source."""
        held = self.pins.get(name)
        return held is not None and held.approves(pin)

    def approve(self, pins: Mapping[str, Pin]) -> None:
        """Approve these for all gateways; durable when this returns."""
        if self.keeps:
            self._revision = self._wait(
                self._database.write(lambda connection: rows.approve(connection, self.name, pins))
            )
        self.pins |= pins
        self.awaited -= {pin.source for pin in pins.values()}

    def trust(self, first: Mapping[str, Pin]) -> Mapping[str, Pin]:
        """Approve the first lists of sources that are still awaited; returns what was approved."""
        if not self.keeps:
            self.approve(first)
            return first

        async def trust(connection: "AsyncConnection[Any]") -> tuple[State, dict[str, Pin]]:
            held = await rows.select_lock(connection, self.name, turn=True)  # of several gateways one is the first
            awaited = held[1] if held else set[str]()
            trusted = {name: pin for name, pin in first.items() if pin.source in awaited}
            if trusted:
                await rows.approve(connection, self.name, trusted)
            return await self._state(connection, set()), trusted

        state, trusted = self._wait(self._database.write(trust))
        self._take(state)
        return trusted

    def reread(self) -> bool:
        """Read what others approved; returns whether there was something new."""
        fresh, self._fresh = self._fresh, None
        if fresh is None or fresh.revision <= self._revision:  # it was read before we approved something ourselves
            return False
        self._take(fresh)
        return True

    def _take(self, state: State) -> None:
        self._revision, self.pins, self.awaited = state.revision, state.pins, state.awaited

    def waiting(self) -> dict[str, Pin]:
        """What gateways hold back until it is approved."""
        return self._wait(self._database.read(lambda connection: rows.select_pins(connection, self.name, "waiting")))

    def write_waiting(self, pins: Mapping[str, Pin], sources: Iterable[str]) -> None:
        """Replace the waiting definitions of these sources; written soon, in the order of the calls."""
        if self.keeps:
            held = dict(pins), sorted(sources)
            asyncio.run_coroutine_threadsafe(self._write_waiting(*held), self._loop)

    def close(self) -> None:
        """Finish pending writes, and close the database."""
        if self._thread.is_alive():
            try:
                self._wait(self._end())
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join(WAIT_SECONDS)
                self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of the thread; the caller waits, but not for ever."""
        asked = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return asked.result(WAIT_SECONDS)
        except TimeoutError:
            asked.cancel()
            raise GatewayError(
                f"The database of approvals {self._database.place} does not answer.", hint="Check PostgreSQL."
            ) from None

    # In the thread:

    async def _begin(self, sources: set[str]) -> State:
        self._writing = asyncio.Lock()
        if not self.keeps:
            async with self._database.connection() as connection:
                if not await version_of(connection, rows.APPROVALS):
                    return State(awaited=sources)
        else:
            self._database.require(rows.APPROVALS)
            await self._database.write(lambda connection: rows.insert_lock(connection, self.name, sources))
        state = await self._read(sources)
        self._following = asyncio.create_task(self._follow(), name="follows approvals")
        return state

    async def _read(self, sources: set[str]) -> State:
        return await self._database.read(lambda connection: self._state(connection, sources))

    async def _state(self, connection: "AsyncConnection[Any]", sources: set[str]) -> State:
        held = await rows.select_lock(connection, self.name)
        if held is None:
            return State(awaited=sources)
        return State(held[0], await rows.select_pins(connection, self.name, "approved"), held[1])

    async def _follow(self) -> None:
        async with Listener(self._database, rows.CHANNEL, self._on_notification):
            while True:
                await self._changed.wait()
                self._changed.clear()
                try:
                    fresh = await self._read(set())
                except ToolcribError as error:  # what is held stays as it is, until the next change
                    logger.error("What others approved could not be read: %s", error)
                else:
                    self._fresh = fresh

    def _on_notification(self, name: str | None) -> None:
        if name in (None, self.name):
            self._changed.set()

    async def _write_waiting(self, pins: Mapping[str, Pin], sources: Iterable[str]) -> None:
        async with self._writing:
            try:
                await self._database.write(
                    lambda connection: rows.replace_waiting(connection, self.name, pins, sources)
                )
            except ToolcribError as error:  # they are held back all the same; only `approve` does not see them
                logger.error("What is held back could not be written: %s", error)

    async def _end(self) -> None:
        async with self._writing:  # what was said before is written
            pass
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait({self._following})
        await self._database.close()
