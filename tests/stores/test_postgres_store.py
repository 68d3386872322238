"""What only PostgreSQL can do to a store: go away and come back, be shared, and have a clock of its own."""

import asyncio
import runpy
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from benchmarks.postgres_server import PostgresServer
from tests.support.stores import NOON, Clock
from toolcrib.errors import SessionBusyError, StoreError, UnknownSessionError
from toolcrib.postgres import database as database_module
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.session_rows import EXPIRES_AT, NOW, SESSIONS
from toolcrib.postgres.sessions import PostgresStore
from toolcrib.stores.lease import LEASE_DURATION
from toolcrib.stores.record import Confirmation, Refusal, SessionRecord
from toolcrib.stores.store import open_store


class Forgetful(PostgresDatabase):
    """Loses its connection after every piece of work, when the database has kept it and could not say so."""

    async def _again_when_lost(
        self, attempt: Callable[[], Awaitable[Any]], patience_seconds: float | None = None
    ) -> Any:
        lost = False

        async def lost_once() -> Any:
            nonlocal lost
            done = await attempt()
            if not lost:
                lost = True
                raise psycopg.OperationalError("the connection is lost")
            return done

        return await super()._again_when_lost(lost_once, patience_seconds)


async def test_what_was_kept_before_the_connection_broke_is_kept_once(postgres_url: str) -> None:
    database = Forgetful(postgres_url)
    async with database, PostgresStore(database, clock=Clock()) as store:
        async with store.open("s") as session:
            await session.append(["a"], events=["e"], usage={"steps": 1})
            await session.append(["b"], usage={"steps": 1})
            asked = [await session.add_confirmation("wipe", {}, "d") for _ in range(2)]
            assert await session.take_confirmation(asked[0].id, "other") is Refusal.CHANGED
            assert isinstance(await session.take_confirmation(asked[0].id, "d"), Confirmation)
            assert await session.take_confirmation("none", "d") is Refusal.UNKNOWN
            assert isinstance(await session.decline_confirmation(asked[1].id), Confirmation)
            assert await session.decline_confirmation(asked[1].id) is Refusal.USED
        record = await store.read("s")
        assert (record.history, record.usage, len(record.events)) == (("a", "b"), {"steps": 2}, 1)
        other = store.for_tenant("acme")
        await other.restore(record)
        assert await other.read("s") == record
        with pytest.raises(StoreError, match="already"):
            await other.restore(SessionRecord(id="s", created_at=NOON, updated_at=NOON))
        await other.delete("s")
        with pytest.raises(UnknownSessionError):
            await other.delete("s")
        assert await store.sessions() != await other.sessions() == ()


@pytest.mark.process
async def test_a_session_outlives_a_restart_of_the_database() -> None:
    with PostgresServer(in_memory=True) as server:
        place = server.new_database()
        async with open_store(place) as store, open_store(place) as elsewhere:
            async with store.open("s") as session:
                await session.append(["before"], events=["before"])
                following = asyncio.create_task(told(elsewhere.follow("s")))
                await asyncio.to_thread(server.restart)
                await session.append(["after"], events=["after"])
                with pytest.raises(SessionBusyError):
                    async with elsewhere.open("s"):
                        pass  # pragma: no cover
            assert await following == ["before", "after"]
            assert (await elsewhere.read("s")).history == ("before", "after")


@pytest.mark.process
@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "crashed"])
async def test_callers_wait_for_a_database_that_is_away(crash: bool) -> None:
    with PostgresServer(in_memory=True, durable=True) as server:
        async with open_store(server.new_database()) as store, store.open("s") as session:
            await asyncio.to_thread(server.halt, at_once=crash)
            writing, reading = asyncio.create_task(session.append(["away"])), asyncio.create_task(store.sessions())
            done, _ = await asyncio.wait([writing, reading], timeout=0.1)
            assert not done
            await asyncio.to_thread(server.resume)
            await writing
            assert [info.id for info in await reading] == ["s"]
            assert session.history == (await store.read("s")).history == ("away",)


@pytest.mark.process
async def test_callers_wait_for_a_connection_and_are_told_of_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    with PostgresServer(in_memory=True, settings={"max_connections": "5"}) as server, ExitStack() as others:
        place = server.new_database()
        async with open_store(place) as store:
            await store.sessions()
            await store.close()
            with suppress(psycopg.OperationalError):
                while True:
                    others.enter_context(psycopg.connect(place))
            monkeypatch.setattr(database_module, "OPENING_SECONDS", 0.05)
            with pytest.raises(StoreError, match="has no connection left") as raised:
                await store.sessions()
            assert "max_connections" in (raised.value.hint or "")
            monkeypatch.undo()
            waiting = asyncio.create_task(store.sessions())
            await asyncio.wait([waiting], timeout=0.1)
            others.close()
            assert await waiting == ()


async def told(following: Any) -> list[object]:
    async with asyncio.timeout(60):
        return [event.event async for event in following if event is not None]


async def test_many_replicas_that_start_at_once_make_the_tables_once(postgres_url: str) -> None:
    stores = [PostgresStore(postgres_url) for _ in range(6)]
    assert await asyncio.gather(*(store.sessions() for store in stores)) == [()] * 6
    for store in stores:
        await store.close()


async def test_tables_of_a_newer_version_are_refused(postgres_url: str) -> None:
    async with PostgresStore(postgres_url) as store:
        await store.sessions()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE toolcrib_versions SET version = 99")
    async with PostgresStore(postgres_url) as store:
        with pytest.raises(StoreError, match="sessions were written by a newer Toolcrib"):
            await store.sessions()


async def test_a_replica_whose_clock_is_wrong_takes_nothing_over(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with PostgresStore(postgres_url) as ours, PostgresStore(postgres_url) as theirs, ours.open("s"):
        # Not by `clock=`, which would also be what leases go by.
        monkeypatch.setattr(theirs, "_clock", lambda: datetime.now(UTC) + timedelta(days=1))
        with pytest.raises(SessionBusyError):
            async with theirs.open("s"):
                pass  # pragma: no cover


async def test_of_many_replicas_that_open_one_session_at_once_one_gets_it(postgres_url: str) -> None:
    opened = 0

    async def try_to_open(store: PostgresStore) -> bool:
        nonlocal opened
        try:
            async with store.open("s"):
                opened += 1
                assert opened == 1
                await all_tried.wait()
                opened -= 1
        except SessionBusyError:
            return False
        return True

    all_tried = asyncio.Event()
    stores = [PostgresStore(postgres_url) for _ in range(8)]
    tasks = [asyncio.create_task(try_to_open(store)) for store in stores]
    refused = 0
    for done in asyncio.as_completed(tasks):
        refused += not await done
        if refused == 7:
            all_tried.set()
    assert refused == 7
    for store in stores:
        await store.close()


async def test_more_sessions_may_be_open_than_there_are_connections(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url, most_connections=2)
    async with database, PostgresStore(database) as store:

        async def talk(number: int) -> None:
            async with store.open(f"s{number}") as session:
                ready.append(number)
                if len(ready) == 30:
                    all_ready.set()
                await all_ready.wait()
                await session.append([number])

        ready: list[int] = []
        all_ready = asyncio.Event()
        await asyncio.gather(*(talk(number) for number in range(30)))
        assert sum(info.messages for info in await store.sessions()) == 30


async def test_a_database_that_others_use_too_is_not_closed_with_the_store(postgres_url: str) -> None:
    async with PostgresDatabase(postgres_url) as database:
        async with PostgresStore(database) as store:
            await store.sessions()
        async with database.connection() as connection:
            assert (await (await connection.execute("SELECT count(*) FROM toolcrib_sessions")).fetchone()) == (0,)
        database.require(SESSIONS)  # once more: it is there
        assert repr(store).startswith("PostgresStore('postgresql://toolcrib@")


async def test_text_that_postgresql_cannot_keep_is_told(postgres_url: str) -> None:
    async with PostgresStore(postgres_url) as store, store.open("s") as session:
        with pytest.raises(StoreError, match="NUL"):
            await session.add_confirmation("wi\x00pe", {}, "d")
        with pytest.raises(StoreError, match="is not Unicode"):
            await session.add_confirmation("half \ud83d", {}, "d")


async def test_who_cannot_be_told_of_news_looks_by_himself(
    postgres_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "OPENING_SECONDS", 0.0)
    async with PostgresStore(postgres_url) as store:
        await store.sessions()
        news = store._news  # pyright: ignore[reportPrivateUsage] - only its own connection is to fail
        monkeypatch.setattr(news, "_database", PostgresDatabase("postgresql://nobody@/none?host=/nowhere"))
        async with store.open("s") as session:
            await session.append(["kept"])
    assert caplog.messages[0].startswith("Other replicas were not told of 1 changed sessions: The database")


def test_the_pages_example_of_two_replicas_is_true_of_postgresql(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLCRIB_STORE", postgres_url)  # the tests of the pages run it with a file
    snippet = Path(__file__).parents[2] / "docs_src" / "postgresql_store" / "two_replicas.py"
    runpy.run_path(str(snippet), run_name="__main__")


def test_a_store_may_be_used_in_one_loop_after_the_other(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)

    async def write(text: str) -> int:
        async with store, store.open("s") as session:
            await session.append([text], events=[text])
        return len(session.history)

    assert [asyncio.run(write("a")), asyncio.run(write("b"))] == [1, 2]


def test_leases_last_as_long_as_everywhere() -> None:
    assert f"{NOW} + {LEASE_DURATION // timedelta(microseconds=1)}" == EXPIRES_AT
