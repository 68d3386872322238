"""A confirmation is good for one call, for a while, and for exactly what was asked."""

import asyncio
from datetime import timedelta

import pytest

from tests.support.stores import NOON, Backend, Clock
from toolcrib.stores.record import Confirmation, Refusal, Resolution
from toolcrib.stores.store import Store

ARGUMENTS = {"page": "home", "really": True, "nested": {"a": [1, 2]}}


async def test_a_question_survives_a_restart_and_is_answered_once(backend: Backend, clock: Clock) -> None:
    place = backend.new_place()
    async with backend.open(place, clock) as store, store.open("s") as session:
        asked = await session.add_confirmation("delete_page", ARGUMENTS, "d1", expires_in=timedelta(minutes=5))
    assert (asked.tool, asked.arguments, asked.digest) == ("delete_page", ARGUMENTS, "d1")
    assert (asked.created_at, asked.expires_at) == (NOON, NOON + timedelta(minutes=5))
    async with backend.open(place, clock) as store:
        async with store.open("s") as session:
            assert session.confirmations == (asked,)
            taken = await session.take_confirmation(asked.id, "d1")
            assert isinstance(taken, Confirmation)
            assert (taken.arguments, taken.settled_at, taken.settled_as) == (ARGUMENTS, NOON, Resolution.TAKEN)
            assert session.confirmations == ()
            assert await session.take_confirmation(asked.id, "d1") is Refusal.USED
        async with store.open("s") as session:
            assert await session.take_confirmation(asked.id, "d1") is Refusal.USED
        assert (await store.read("s")).confirmations == (taken,)


async def test_changed_arguments_are_refused_and_the_question_stays_open(store: Store) -> None:
    async with store.open("s") as session:
        asked = await session.add_confirmation("delete_page", ARGUMENTS, "d1")
        assert await session.take_confirmation(asked.id, "d2") is Refusal.CHANGED
        assert session.confirmations == (asked,)
        assert isinstance(await session.take_confirmation(asked.id, "d1"), Confirmation)


async def test_a_question_expires(store: Store, clock: Clock) -> None:
    async with store.open("s") as session:
        asked = await session.add_confirmation("delete_page", {}, "d1", expires_in=timedelta(seconds=10))
        clock.forward(seconds=10)
        assert session.confirmations == ()
        assert await session.take_confirmation(asked.id, "d1") is Refusal.EXPIRED
        assert await session.decline_confirmation(asked.id) is Refusal.EXPIRED


async def test_a_declined_question_cannot_be_taken(store: Store) -> None:
    async with store.open("s") as session:
        asked = await session.add_confirmation("delete_page", {}, "d1")
        declined = await session.decline_confirmation(asked.id)
        assert isinstance(declined, Confirmation)
        assert declined.settled_as is Resolution.DECLINED
        assert await session.take_confirmation(asked.id, "d1") is Refusal.USED


async def test_a_question_of_another_session_is_unknown(store: Store) -> None:
    async with store.open("a") as one, store.open("b") as other:
        asked = await one.add_confirmation("delete_page", {}, "d1")
        assert await other.take_confirmation(asked.id, "d1") is Refusal.UNKNOWN
        assert isinstance(await one.take_confirmation(asked.id, "d1"), Confirmation)


async def test_of_many_who_try_at_once_one_succeeds(store: Store) -> None:
    async with store.open("s") as session:
        asked = await session.add_confirmation("delete_page", {}, "d1")
        taken = await asyncio.gather(*(session.take_confirmation(asked.id, "d1") for _ in range(20)))
    assert sorted(map(type, taken), key=str) == sorted([Confirmation, *[Refusal] * 19], key=str)


@pytest.mark.parametrize("count", [1, 3])
async def test_open_questions_are_told_in_the_order_they_were_asked(store: Store, clock: Clock, count: int) -> None:
    async with store.open("s") as session:
        for number in range(count):
            await session.add_confirmation("delete_page", {"n": number}, "d")
            clock.forward(seconds=1)
    async with store.open("s") as session:
        assert [one.arguments["n"] for one in session.confirmations] == list(range(count))
