"""A session that somebody else takes over: the first hand can write nothing more, and hears of it."""

from datetime import timedelta

import pytest

from tests.support.stores import Backend
from toolcrib.errors import SessionBusyError, SessionLostError
from toolcrib.stores.lease import Heartbeat, Lease
from toolcrib.stores.store import Store


async def test_who_takes_a_session_over_has_it_and_the_other_has_lost_it(store: Store) -> None:
    async with store.open("shop") as first:
        await first.append(events=[{"type": "a"}])
        async with store.open("shop", take_over=True) as second:
            await second.append(events=[{"type": "b"}])
            with pytest.raises(SessionLostError):
                await first.append(events=[{"type": "c"}])
            with pytest.raises(SessionBusyError):
                async with store.open("shop"):
                    pass  # pragma: no cover
    assert [line.event["type"] for line in await store.events("shop")] == ["a", "b"]


async def test_the_one_who_lost_it_does_not_give_it_back_for_the_other(store: Store) -> None:
    async with store.open("shop"):
        taking = store.open("shop", take_over=True)
        await taking.__aenter__()
    assert await store.is_open("shop")
    await taking.__aexit__(None, None, None)
    assert not await store.is_open("shop")


async def test_a_session_that_nobody_has_can_be_taken_over_too(store: Store) -> None:
    async with store.open("shop", take_over=True) as session:
        await session.append(events=[{"type": "a"}])
    assert len(await store.events("shop")) == 1


async def test_a_session_hears_that_it_was_lost(backend: Backend) -> None:
    async with backend.open(backend.new_place()) as store, store.open("shop") as first:
        held = Lease.new("", "shop")
        heartbeat = Heartbeat(lambda leases: leases, every=timedelta(milliseconds=1))  # says that all are lost
        heartbeat.add(held, first.mark_lost)
        await first.lost.wait()
        assert not heartbeat.remove(held)
