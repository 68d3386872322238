"""Approvals in PostgreSQL: the tables, and what is read and written there. Every key begins with a lock's name."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from toolcrib.errors import GatewayError
from toolcrib.gateway.lock import Pin
from toolcrib.postgres.migrations import Component, Migration

if TYPE_CHECKING:
    from psycopg import AsyncConnection

CHANNEL = "toolcrib_approvals"
State = Literal["approved", "waiting"]

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
    """Make a lock, unless another gateway was faster."""
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


async def select_pins(connection: "AsyncConnection[Any]", name: str, state: State) -> dict[str, Pin]:
    """The definitions that were approved, or that wait for it."""
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


async def upsert_pins(connection: "AsyncConnection[Any]", name: str, state: State, pins: Mapping[str, Pin]) -> None:
    """Keep definitions, in place of older ones of the same tools."""
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
    """Approve definitions: their sources are no longer awaited. Gives the lock's new revision."""
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
    """Let exactly these wait, of these sources."""
    await connection.execute(
        "DELETE FROM toolcrib_lock_pins WHERE lock = %s AND state = 'waiting' AND source = ANY(%s)",
        (name, sorted(sources)),
    )
    await upsert_pins(connection, name, "waiting", pins)
