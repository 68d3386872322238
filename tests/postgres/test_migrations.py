"""Tables are brought up once, whoever starts at the same time; newer ones are left alone."""

import asyncio

import pytest

from toolcrib.errors import StoreError
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.migrations import Component, Migration, migrate, version_of

FIRST = Migration(1, ("CREATE TABLE bench (a int)", "INSERT INTO bench VALUES (1)"))
SECOND = Migration(2, ("ALTER TABLE bench ADD b int", "INSERT INTO bench VALUES (2, 2)"))
OLD, NEW = Component("bench", (FIRST,)), Component("bench", (FIRST, SECOND))


async def rows(database: PostgresDatabase) -> int:
    async with database.connection() as connection:
        row = await (await connection.execute("SELECT count(*) FROM bench")).fetchone()
    assert row is not None
    return row[0]


async def test_replicas_that_start_at_once_bring_the_tables_up_once(postgres_url: str) -> None:
    async def start(component: Component) -> None:
        async with PostgresDatabase(postgres_url) as database, database.connection() as connection:
            await migrate(connection, component)

    await asyncio.gather(*(start(NEW) for _ in range(8)))
    async with PostgresDatabase(postgres_url) as database:
        assert await rows(database) == 2


async def test_tables_are_brought_up_from_where_they_are(postgres_url: str) -> None:
    async with PostgresDatabase(postgres_url) as database:
        async with database.connection() as connection:
            assert await version_of(connection, NEW) == 0
            for component, version in ((OLD, 1), (NEW, 2), (NEW, 2)):
                await migrate(connection, component)
                assert await version_of(connection, component) == version
            assert await version_of(connection, Component("another", (FIRST,))) == 0
        assert await rows(database) == 2


async def test_newer_tables_are_refused_and_left_alone(postgres_url: str) -> None:
    async with PostgresDatabase(postgres_url) as database:
        async with database.connection() as connection:
            await migrate(connection, NEW)
            with pytest.raises(StoreError) as raised:
                await migrate(connection, OLD)
        assert "bench were written by a newer Toolcrib (form 2; this one knows forms up to 1)" in str(raised.value)
        assert raised.value.hint == "Update Toolcrib: pip install --upgrade toolcrib"
        assert await rows(database) == 2


async def test_a_migration_that_fails_changes_nothing(postgres_url: str) -> None:
    broken = Component("bench", (FIRST, Migration(2, ("ALTER TABLE bench ADD b int", "NONSENSE"))))
    async with PostgresDatabase(postgres_url) as database:
        async with database.connection() as connection:
            await migrate(connection, OLD)
        with pytest.raises(StoreError, match="syntax error"):
            async with database.connection() as connection:
                await migrate(connection, broken)
        async with database.connection() as connection:
            assert await version_of(connection, NEW) == 1
            await migrate(connection, NEW)
        assert await rows(database) == 2
