"""Migrations as data: each version of a component says what it changes; a database is migrated step by step.

Any number of replicas may start at once: the first does the work, the others wait for it. A replica that runs while a
newer one brings the tables up goes on, so a migration only adds; what is no longer used is dropped a version later.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolcrib.errors import StoreError

if TYPE_CHECKING:
    from psycopg import AsyncConnection


_TURN = 0x54435242  # "TCRB": the advisory lock of those who change tables


@dataclass(frozen=True, slots=True)
class Migration:
    """What one version changed."""

    version: int
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Component:
    """Tables that belong together and have a version of their own, such as the sessions."""

    name: str
    migrations: tuple[Migration, ...]

    @property
    def version(self) -> int:
        """The newest version that we know."""
        return self.migrations[-1].version


async def migrate(connection: "AsyncConnection[Any]", component: Component) -> None:
    """Migrate a component's tables to the newest version, or leave them untouched."""
    if await version_of(connection, component) == component.version:
        return
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_TURN,))  # the others wait here
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS toolcrib_versions (component text PRIMARY KEY, version integer NOT NULL)"
        )
        held = await version_of(connection, component)
        for migration in component.migrations:
            if migration.version > held:
                for statement in migration.statements:
                    await connection.execute(statement.encode())  # bytes: the statements are ours, but no literals
        await connection.execute(
            "INSERT INTO toolcrib_versions (component, version) VALUES (%s, %s)"
            " ON CONFLICT (component) DO UPDATE SET version = excluded.version",
            (component.name, component.version),
        )


async def version_of(connection: "AsyncConnection[Any]", component: Component) -> int:
    """The version of a component in a database, 0 if it does not exist; raises an error if it is newer than ours."""
    there = await (await connection.execute("SELECT to_regclass('toolcrib_versions') IS NOT NULL")).fetchone()
    if there is None or not there[0]:
        return 0
    query = "SELECT version FROM toolcrib_versions WHERE component = %s"
    row = await (await connection.execute(query, (component.name,))).fetchone()
    version = row[0] if row else 0
    if version > component.version:
        raise StoreError(
            f"The tables of {component.name} were written by a newer Toolcrib (form {version}; this one knows forms up "
            f"to {component.version}). They were not touched.",
            hint="Update Toolcrib: pip install --upgrade toolcrib",
        )
    return version
