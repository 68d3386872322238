"""A session's log can be followed from another process while somebody writes it."""

import asyncio
import sys
from collections.abc import AsyncGenerator

import pytest

from tests.support.store_process import line, process
from tests.support.stores import Backend
from toolcrib.errors import StoreError, UnknownSessionError
from toolcrib.postgres import sessions as postgres
from toolcrib.stores.record import LoggedEvent
from toolcrib.stores.store import Store


async def all_of(following: AsyncGenerator[LoggedEvent | None]) -> list[object]:
    async with asyncio.timeout(60):
        return [event.event async for event in following if event is not None]


async def test_what_another_writes_is_told_as_it_is_written_until_it_is_done(backend: Backend) -> None:
    place = backend.new_place()
    async with backend.open(place) as theirs, backend.open(place) as ours:
        async with theirs.open("s") as session:
            await session.append(events=["a", "b"])
            following = ours.follow("s", after=0)
            told: list[object] = [(await anext_within(following)).event]
            for number in range(10):
                await session.append(events=[number])
                told.append((await anext_within(following)).event)
            assert told == ["b", *range(10)]
            rest = asyncio.create_task(all_of(following))
            await session.append(events=["last"])
        assert await rest == ["last"]


async def anext_within(following: AsyncGenerator[LoggedEvent | None]) -> LoggedEvent:
    async with asyncio.timeout(60):
        event = await anext(following)
        while event is None:
            event = await anext(following)
        return event


async def test_a_session_that_nobody_has_open_is_told_and_over(store: Store) -> None:
    async with store.open("s") as session:
        assert await store.is_open("s")
        await session.append(events=["a"])
    assert not await store.is_open("s")
    assert await all_of(store.follow("s")) == ["a"]
    assert await all_of(store.follow("s", after=0)) == []


async def test_a_silence_is_told(store: Store) -> None:
    async with store.open("s"):
        following = store.follow("s", ping_seconds=0.01)
        async with asyncio.timeout(60):
            assert [await anext(following), await anext(following)] == [None, None]
        await following.aclose()


async def test_a_session_that_is_not_there_cannot_be_followed(store: Store) -> None:
    assert not await store.is_open("s")
    with pytest.raises(UnknownSessionError):
        await all_of(store.follow("s"))
    with pytest.raises(StoreError, match="cannot be the id of a session"):
        await all_of(store.follow("-rf"))


async def test_another_tenants_session_of_the_same_name_is_not_followed(backend: Backend) -> None:
    place = backend.new_place()
    async with backend.open(place) as root, backend.open(place) as elsewhere:
        acme, globex = root.for_tenant("acme"), root.for_tenant("globex")
        async with acme.open("s") as ours, globex.open("s") as theirs:
            following = asyncio.create_task(all_of(elsewhere.for_tenant("acme").follow("s")))
            await theirs.append(events=["theirs"])
            await ours.append(events=["ours"])
        assert await following == ["ours"]


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
async def test_a_session_whose_holder_was_killed_is_over(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "POLL_SECONDS", 0.05)  # the dead tell no news
    place = backend.new_place()
    with process("hold", place) as holder:
        assert await asyncio.to_thread(line, holder) == "open"
        async with backend.open(place) as store:
            following = store.follow("s", ping_seconds=0.01)
            async with asyncio.timeout(60):
                assert await anext(following) is None  # it is open
            holder.kill()
            await asyncio.to_thread(holder.wait)
            assert await all_of(following) == []
