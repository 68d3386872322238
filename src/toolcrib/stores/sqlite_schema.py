"""The tables of a SQLite store, as data: each version says what it changes, and a file is brought up step by step.

Every row has a tenant, and every key begins with it. Times are whole microseconds since 1970: exact, and easy to sort.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from toolcrib.errors import StoreError

APPLICATION = 0x54435242  # "TCRB": tells our files from other programs'


@dataclass(frozen=True, slots=True)
class Migration:
    """What one version changed."""

    version: int
    statements: tuple[str, ...]


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        1,
        (
            f"PRAGMA application_id = {APPLICATION}",
            """CREATE TABLE sessions (
                tenant TEXT NOT NULL, id TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
                memory TEXT NOT NULL, toolbox TEXT NOT NULL, usage TEXT NOT NULL, PRIMARY KEY (tenant, id))""",
            "CREATE INDEX sessions_by_change ON sessions (tenant, updated_at)",
            """CREATE TABLE messages (
                tenant TEXT NOT NULL, session TEXT NOT NULL, position INTEGER NOT NULL, message TEXT NOT NULL,
                PRIMARY KEY (tenant, session, position),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE)""",
            """CREATE TABLE confirmations (
                tenant TEXT NOT NULL, session TEXT NOT NULL, id TEXT NOT NULL, tool TEXT NOT NULL,
                arguments TEXT NOT NULL, digest TEXT NOT NULL, created_at INTEGER NOT NULL,
                expires_at INTEGER NOT NULL, settled_at INTEGER, settled_as TEXT, PRIMARY KEY (tenant, session, id),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE)""",
            """CREATE TABLE leases (
                tenant TEXT NOT NULL, session TEXT NOT NULL, token TEXT NOT NULL, host TEXT NOT NULL,
                pid INTEGER NOT NULL, started TEXT NOT NULL, expires_at INTEGER NOT NULL,
                PRIMARY KEY (tenant, session),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE)""",
        ),
    ),
    Migration(
        2,
        (
            "ALTER TABLE sessions ADD COLUMN title TEXT NOT NULL DEFAULT ''",
            """CREATE TABLE events (
                tenant TEXT NOT NULL, session TEXT NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL,
                event TEXT NOT NULL, PRIMARY KEY (tenant, session, position),
                FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE)""",
        ),
    ),
)
CURRENT = MIGRATIONS[-1].version


def bring_up(connection: sqlite3.Connection, place: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring a file to the newest version, or leave it untouched. Safe when several processes do so at once."""
    if version_of(connection, place) == migrations[-1].version:
        return
    connection.execute("BEGIN IMMEDIATE")  # the others wait here, and then find that all is done
    try:
        held = version_of(connection, place)
        for migration in migrations:
            if migration.version > held:
                for statement in migration.statements:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {migration.version}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def version_of(connection: sqlite3.Connection, place: str) -> int:
    """The version of a file that is ours, 0 when it is new; refuses what is newer than we are, or not ours."""
    version = version_number(connection)
    if not version and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return 0
    if not version or connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise StoreError(
            f"{place} is a database of another program; it was not touched.",
            hint="Name another file with --store or TOOLCRIB_STORE.",
        )
    refuse_newer(version, place)
    return version


def version_number(connection: sqlite3.Connection) -> int:
    """The number that stands in the file."""
    return connection.execute("PRAGMA user_version").fetchone()[0]


def refuse_newer(version: int, place: str) -> None:
    """We do not know what a newer version would expect of us."""
    if version > CURRENT:
        raise StoreError(
            f"{place} was written by a newer Toolcrib (form {version}; this one knows forms up to {CURRENT}). "
            "It was not touched.",
            hint="Update Toolcrib: pip install --upgrade toolcrib",
        )
