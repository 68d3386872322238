"""A crib: what all sessions share, opened and closed in one place, and an agent in five lines."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest
from pydantic_ai.models.openai import OpenAIChatModel

from benchmarks.wire import Turn, WireServer
from tests.support.agent import content, scripted
from toolcrib import Catalog, Crib, run
from toolcrib.agent import Answered, Text, ToolStarted
from toolcrib.agent.models import model_for
from toolcrib.errors import ToolcribError
from toolcrib.stores.sqlite.store import SqliteStore


@pytest.mark.process
async def test_leaving_a_crib_closes_the_connections_of_its_model() -> None:
    with WireServer([Turn("Hello."), Turn("Hello again.")]) as server:
        model = model_for("openai-chat:gpt-5.4", base_url=server.url, api_key="key")
        assert isinstance(model, OpenAIChatModel)
        async with Crib(Catalog(), model=model) as crib, SqliteStore(None) as store:
            for text in ("Hello.", "Hello again."):  # one crib, several sessions
                async with store.open() as session:
                    assert (await run(session, "Hi", crib=crib)).answer == text
            assert not model.client.is_closed()
        assert model.client.is_closed()


def test_a_crib_continues_its_own_conversation() -> None:
    script, model = scripted("Hello, Ann.", "You are Ann.")
    crib = Crib(Catalog(), model=model)
    assert crib.run_sync("I am Ann").answer == "Hello, Ann."
    assert crib.run_sync("Who am I?").answer == "You are Ann."
    assert [content(message) for message in script.messages[1]] == ["I am Ann", "Hello, Ann.", "Who am I?"]


async def test_each_crib_has_a_conversation_of_its_own() -> None:
    script, model = scripted("Hello, Ann.", "I do not know.")
    async with Crib(Catalog(), model=model) as one, Crib(Catalog(), model=model) as another:
        await one.run("I am Ann")
        await another.run("Who am I?")
    assert [content(message) for message in script.messages[1]] == ["Who am I?"]


def test_a_named_session_in_a_file_is_kept_from_crib_to_crib(tmp_path: Path) -> None:
    script, model = scripted("Hello, Ann.", "You are Ann.", "I do not know.")
    place = tmp_path / "talks.db"
    Crib(Catalog(), model=model, store=place).run_sync("I am Ann", session="tuesday")
    later = Crib(Catalog(), model=model, store=str(place))
    assert later.run_sync("Who am I?", session="tuesday").answer == "You are Ann."
    assert [content(message) for message in script.messages[1]] == ["I am Ann", "Hello, Ann.", "Who am I?"]
    later.run_sync("Who am I?", session="wednesday")
    assert [content(message) for message in script.messages[2]] == ["Who am I?"]


async def test_within_an_event_loop_run_sync_names_the_way_out() -> None:
    with pytest.raises(ToolcribError, match="event loop") as raised:
        Crib(Catalog()).run_sync("Hi")
    assert raised.value.hint == "Use `await crib.run(...)`."


async def test_a_crib_closes_the_store_that_it_made(tmp_path: Path) -> None:
    _, model = scripted("Hello.")
    async with Crib(Catalog(), model=model, store=tmp_path / "talks.db") as crib:
        await crib.run("Hi", session="tuesday")
        assert (tmp_path / "talks.db-wal").exists()
    assert not (tmp_path / "talks.db-wal").exists(), "SQLite removes it with the last connection"


async def test_a_store_that_was_given_stays_open(store: SqliteStore) -> None:
    _, model = scripted("Hello.")
    async with Crib(Catalog(), model=model, store=store) as crib:
        await crib.run("Hi", session="tuesday")
    assert (await store.read("tuesday")).title == "Hi"


async def test_a_crib_streams_what_happens() -> None:
    _, model = scripted("Hello.")
    async with Crib(Catalog(), model=model) as crib:
        events = [event async for event in crib.stream("Hi") if isinstance(event, Text | Answered)]
    assert events == [Text(delta="Hello."), Answered(text="Hello.")]


async def test_stopping_the_stream_stops_the_run() -> None:
    catalog = Catalog()
    began, stopped = asyncio.Event(), asyncio.Event()

    @catalog.tool
    async def wait() -> str:
        """Wait for something that never comes."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ""

    _, model = scripted([("wait", {})], "Hello again.")
    async with Crib(catalog, model=model, pinned=["wait"]) as crib:
        async with aclosing(crib.stream("Wait")) as events:
            async for event in events:
                if isinstance(event, ToolStarted):
                    await began.wait()
                    break
        assert (await crib.run("Still there?")).answer == "Hello again."
    assert stopped.is_set()


async def test_tools_get_the_context_of_a_run() -> None:
    catalog = Catalog()

    @catalog.tool
    async def whoami(context: str) -> str:
        """Say who the user is."""
        return f"You are {context}."

    _, model = scripted([("whoami", {})], "Done.")
    async with Crib(catalog, model=model, pinned=["whoami"]) as crib:
        done = await crib.run("Who am I?", context="ann")
    assert [event.text for event in done.events if event.type == "tool_finished"] == ["You are ann."]
