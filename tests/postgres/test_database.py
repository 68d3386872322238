"""Connections to a real PostgreSQL: pooled, replaced when they break, and silent about passwords."""

import asyncio
import os
import sys
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg_pool import PoolTimeout

from benchmarks.postgres_server import PostgresServer
from toolcrib.errors import MissingExtraError, StoreError
from toolcrib.postgres import database as room
from toolcrib.postgres.database import PostgresAddress, PostgresDatabase
from toolcrib.postgres.errors import is_connection_lost
from toolcrib.settings import is_postgres


async def value(connection: AsyncConnection[Any], query: str) -> object:
    row = await (await connection.execute(query.encode())).fetchone()
    assert row is not None
    return row[0]


async def test_a_transaction_is_kept_or_undone(postgres_url: str) -> None:
    async with PostgresDatabase(postgres_url) as database:
        async with database.transaction() as connection:
            await connection.execute("CREATE TABLE t (a int)")
            await connection.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(ZeroDivisionError):
            await broken_insert(database)
        async with database.connection() as connection:
            await connection.execute("INSERT INTO t VALUES (3)")
        async with database.own_connection() as connection:
            assert await value(connection, "SELECT array_agg(a ORDER BY a) FROM t") == [1, 3]


async def broken_insert(database: PostgresDatabase) -> None:
    async with database.transaction() as connection:
        await connection.execute("INSERT INTO t VALUES (2)")
        raise ZeroDivisionError


async def test_work_is_kept_at_its_end_and_reads_one_moment(postgres_url: str) -> None:
    async with PostgresDatabase(postgres_url) as database:
        await database.write(lambda connection: connection.execute("CREATE TABLE t (a int)"))

        async def count_twice(connection: AsyncConnection[Any]) -> tuple[object, object]:
            before = await value(connection, "SELECT count(*) FROM t")
            await database.write(lambda other: other.execute("INSERT INTO t VALUES (1)"))
            return before, await value(connection, "SELECT count(*) FROM t")

        assert await database.read(count_twice) == (0, 0)
        with pytest.raises(StoreError, match="cannot be written"):
            await database.read(lambda connection: connection.execute("INSERT INTO t VALUES (1)"))


@pytest.mark.process
async def test_connections_that_broke_are_replaced_and_work_is_begun_anew() -> None:
    with PostgresServer(in_memory=True) as server:
        async with PostgresDatabase(server.new_database()) as database:
            tries = 0

            async def interrupted(connection: AsyncConnection[Any]) -> object:
                nonlocal tries
                tries += 1
                if tries == 1:
                    await asyncio.to_thread(server.restart)
                return await value(connection, "SELECT 7")

            assert await database.write(interrupted) == 7
            assert tries == 2
            await asyncio.to_thread(server.restart)
            async with database.transaction() as connection:  # one from the pool, which was cut while nobody used it
                assert await value(connection, "SELECT 7") == 7


async def test_a_transaction_that_lost_its_connection_says_so(postgres_url: str) -> None:
    async with PostgresDatabase(postgres_url) as database:
        with pytest.raises(StoreError, match="cannot be reached") as raised:
            await cut_transaction(database)
        assert raised.value.hint == (
            "Check that PostgreSQL runs, and its address, user and password in TOOLCRIB_STORE or --store."
        )


async def cut_transaction(database: PostgresDatabase) -> None:
    async with database.transaction() as connection:
        async with database.own_connection() as other:
            await other.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
        await connection.execute("SELECT 1")


async def test_work_that_goes_on_losing_its_connection_ends(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "PATIENCE_SECONDS", 0.0)

    async def lose() -> None:
        raise psycopg.OperationalError("the connection is lost")

    database = PostgresDatabase(postgres_url)
    tried = database._again_when_lost  # pyright: ignore[reportPrivateUsage] - by itself: a connection takes patience, too
    with pytest.raises(StoreError, match="cannot be reached: the connection is lost"):
        await tried(lose)


async def test_errors_of_the_work_are_not_tried_again(postgres_url: str) -> None:
    async with PostgresDatabase(postgres_url) as database:
        tries = 0

        async def refuse(connection: AsyncConnection[Any]) -> None:
            nonlocal tries
            tries += 1
            raise StoreError("No.")

        with pytest.raises(StoreError, match="No"):
            await database.write(refuse)
        with pytest.raises(StoreError, match="cannot do this: syntax error"):
            await database.write(lambda connection: connection.execute("NONSENSE"))
        with pytest.raises(StoreError, match="is not Unicode"):
            await database.write(lambda connection: connection.execute("SELECT %s", ("half \ud83d",)))
        assert tries == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"dbname": "nothing"}, 'FATAL:  database "nothing" does not exist'),
        ({"user": "stranger"}, 'FATAL:  role "stranger" does not exist'),
        ({"host": "nowhere.invalid"}, "cannot be reached"),
    ],
)
async def test_what_is_wrong_is_told_without_the_password(
    postgres_url: str, change: dict[str, str], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "OPENING_SECONDS", 0.0)
    address = PostgresAddress.read(postgres_url.replace("toolcrib@", "toolcrib:s3cret@"))
    address.parameters.update(change)
    database = PostgresDatabase(postgres_url)
    database.address = address
    with pytest.raises(StoreError, match=problem) as raised:
        async with database.connection():
            pass  # pragma: no cover
    assert "s3cret" not in f"{raised.value} {raised.value.hint} {raised.value.__cause__} {database!r} {address!r}"
    assert raised.value.public == "The database cannot be reached."  # without host, user and name


@pytest.mark.parametrize(
    "url",
    [
        "mysql://host/db",
        "postgresql:/db",
        "postgresql://u:s3@cret@host/db",
        "postgresql://u:s3cret@host:s3cret/db",
        "postgresql://u:s3/cret@host/db",
        "postgresql://u@host/db?s3cret",
    ],
)
def test_a_wrong_url_is_told_without_what_stands_in_it(url: str) -> None:
    with pytest.raises(StoreError) as raised:
        PostgresDatabase(url)
    assert str(raised.value) == "This is not the URL of a PostgreSQL database."
    assert "%40" in (raised.value.hint or "")
    assert raised.value.__cause__ is None


def test_a_place_is_shown_without_the_password() -> None:
    shown = [
        PostgresAddress.read(url).place
        for url in (
            "postgres://ann:s3cret@db.example:6543/crib?sslmode=require",
            "postgresql://db.example/crib?password=s3cret&user=ann",
            "postgresql:///crib",
        )
    ]
    assert shown == [
        "postgresql://ann@db.example:6543/crib",
        "postgresql://ann@db.example/crib",
        "postgresql:///crib",
    ]


def test_only_urls_of_postgresql_are_taken_for_one() -> None:
    assert [is_postgres(text) for text in ("postgres://h/d", "postgresql:///d", "sqlite:///x", "C:/postgres")] == [
        True,
        True,
        False,
        False,
    ]


def test_without_the_driver_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError) as raised:
        PostgresDatabase("postgresql:///crib")
    assert raised.value.hint == "pip install 'toolcrib[postgres]'"


async def test_a_closed_database_opens_again(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    await database.close()
    for _ in range(2):
        async with database, database.connection() as connection:
            assert await value(connection, "SELECT 7") == 7


async def test_many_first_users_open_one_pool(postgres_url: str) -> None:
    async with PostgresDatabase(postgres_url, most_connections=2) as database:

        async def ask(connection: AsyncConnection[Any]) -> object:
            return await value(connection, "SELECT pg_backend_pid()")

        pids = await asyncio.gather(*(database.read(ask) for _ in range(20)))
        assert len(set(pids)) <= 2


async def test_a_pool_of_another_process_or_loop_is_left_alone(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(connection: AsyncConnection[Any]) -> object:
        return await value(connection, "SELECT 7")

    database = PostgresDatabase(postgres_url)
    assert await database.read(ask) == 7
    parents = database._room  # pyright: ignore[reportPrivateUsage] - whose a pool is shows nowhere else
    assert parents is not None
    assert parents.pool is not None
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -1)
        assert await database.read(ask) == 7
        assert database._room is not parents  # pyright: ignore[reportPrivateUsage] - as above
        await database.close()
        forked.setattr(database, "_room", parents)
        forked.setattr(os, "getpid", lambda: -2)
        await database.close()  # not ours
    assert room._leftovers[-2:] == [parents, parents]  # pyright: ignore[reportPrivateUsage] - as above
    await parents.pool.close()


async def test_who_finds_no_free_connection_is_told(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "PATIENCE_SECONDS", 0.05)
    async with PostgresDatabase(postgres_url, most_connections=1) as database, database.connection():
        with pytest.raises(StoreError, match="gave no connection in time"):
            async with database.connection():
                pass  # pragma: no cover


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (psycopg.InterfaceError("the connection is closed"), True),
        (psycopg.errors.AdminShutdown("terminating connection"), True),
        (psycopg.errors.CannotConnectNow("the database system is starting up"), True),
        (psycopg.OperationalError("FATAL:  the database system is starting up"), True),
        (psycopg.OperationalError('FATAL:  password authentication failed for user "crib"'), False),
        (psycopg.errors.ConnectionTimeout("connection timeout expired"), True),
        (PoolTimeout("couldn't get a connection after 1.00 sec"), True),
        (psycopg.OperationalError("FATAL:  the database system is not yet accepting connections"), True),
        (psycopg.OperationalError("FATAL:  the database system is in recovery mode"), True),
        (psycopg.OperationalError("FATAL:  sorry, too many clients already"), True),
        (psycopg.errors.TooManyConnections("too many connections for role"), True),
        (psycopg.errors.UniqueViolation("duplicate key"), False),
        (ValueError("no error of the driver"), False),
    ],
    ids=repr,
)
def test_only_lost_connections_are_worth_another_try(error: Exception, lost: bool) -> None:
    assert is_connection_lost(error) is lost
