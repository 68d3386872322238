"""A network before PostgreSQL that loses packets, answers and connections: no caller hears of it, nothing doubles."""

import asyncio
import time

import pytest

from benchmarks.postgres_server import PostgresServer
from tests.support.bad_network import BadNetwork
from toolcrib.stores.record import Confirmation
from toolcrib.stores.store import open_store

STEPS = 24
ENOUGH_SECONDS = 45.0  # the store itself gives up before


async def worked(url: str, name: str, fault: str, seconds: float = 0.0) -> float:
    """Take some steps in a session, with a fault in the middle; gives the longest that one of them took."""
    longest = 0.0
    async with BadNetwork(url) as network, open_store(network.url) as store, store.open(name) as session:
        for number in range(STEPS):
            if number == 4 or (number % 8 == 4 and fault in ("cut", "lose answers")):
                if fault == "hold back":
                    network.hold_back()
                    asyncio.get_running_loop().call_later(seconds, network.deliver)
                elif fault == "lose answers":
                    network.lose_answers(1 + number % 3)
                else:
                    {"cut": network.cut, "half-open": network.half_open}[fault]()
            began = time.monotonic()
            async with asyncio.timeout(ENOUGH_SECONDS):
                await session.append([number], events=[number])
                await session.begin_call(f"{name}:{number}", "order")
                asked = await session.add_confirmation("wipe", {"number": number}, "digest")
                assert isinstance(await session.take_confirmation(asked.id, "digest"), Confirmation)
            longest = max(longest, time.monotonic() - began)
    async with open_store(url) as store:
        record = await store.read(name)
    assert list(record.history) == [line.event for line in record.events] == list(range(STEPS))
    assert [call.id for call in record.calls] == [f"{name}:{number}" for number in range(STEPS)]
    assert [one.settled_as for one in record.confirmations] == ["taken"] * STEPS
    return longest


@pytest.mark.parametrize("fault", ["cut", "lose answers", "half-open"])
async def test_connections_that_break_reach_no_caller(postgres_url: str, fault: str) -> None:
    await worked(postgres_url, "s", fault)


@pytest.mark.parametrize(
    "lengths", [(1, 2), pytest.param(tuple(range(1, 30)), marks=pytest.mark.chaos)], ids=["two", "each up to 29 s"]
)
async def test_a_network_that_is_away_reaches_no_caller(postgres: PostgresServer, lengths: tuple[int, ...]) -> None:
    url = postgres.new_database()
    await asyncio.gather(*(worked(url, f"s{seconds}", "hold back", seconds) for seconds in lengths))
