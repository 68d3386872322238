"""What is notified is heard, also after the connection broke; and who was away is told to look."""

import asyncio

import pytest

from benchmarks.postgres_server import PostgresServer
from toolcrib.postgres import notifications as listening
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.postgres.notifications import Listener


async def notify(database: PostgresDatabase, payload: str) -> None:
    async with database.connection() as connection:
        await connection.execute("SELECT pg_notify('news', %s)", (payload,))


async def heard_next(heard: "asyncio.Queue[str | None]") -> str | None:
    return await asyncio.wait_for(heard.get(), 60)


async def test_notifications_are_heard_in_their_order(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "CHECK_SECONDS", 0.01)  # also across checks of the connection
    heard: asyncio.Queue[str | None] = asyncio.Queue()
    async with PostgresDatabase(postgres_url) as database, Listener(database, "news", heard.put_nowait) as listener:
        await listener.start()  # once more: nothing new
        assert await heard_next(heard) is None
        for text in ("a", "b", "ü"):
            await notify(database, text)
            assert await heard_next(heard) == text


@pytest.mark.process
async def test_after_a_lost_connection_one_is_told_to_look(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "FIRST_PAUSE_SECONDS", 0.01)
    heard: asyncio.Queue[str | None] = asyncio.Queue()
    with PostgresServer(in_memory=True) as server:
        url = server.new_database()
        async with PostgresDatabase(url) as database, Listener(database, "news", heard.put_nowait):
            assert await heard_next(heard) is None
            await asyncio.to_thread(server.restart)
            while (text := await heard_next(heard)) is None:  # each time that it listens again
                await notify(database, "back")
            assert text == "back"
    assert caplog.messages[0].startswith("Not listening to news for 0.0 s: The database postgresql://toolcrib@")


async def test_a_listener_that_was_never_started_can_be_closed(postgres_url: str) -> None:
    async with PostgresDatabase(postgres_url) as database:
        await Listener(database, "news", print).close()
