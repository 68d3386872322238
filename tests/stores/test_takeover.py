"""A session that somebody else takes over: the first hand can write nothing more, and hears of it."""

import asyncio
import json
import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support import store_process
from tests.support.stores import Backend, Clock
from toolcrib.errors import SessionBusyError, SessionLostError, StoreError
from toolcrib.stores.export import from_document, to_document
from toolcrib.stores.lease import Heartbeat, Lease
from toolcrib.stores.record import BegunCall
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


async def test_each_opening_has_a_higher_fence_than_all_before(store: Store) -> None:
    async with store.open("shop") as first, store.open("shop", take_over=True) as second:
        assert (first.fence, second.fence) == (1, 2)
    async with store.open("shop") as third:
        assert third.fence == 3
    assert (await store.read("shop")).fence == 3


async def test_a_call_is_begun_once(store: Store, clock: Clock) -> None:
    async with store.open("shop") as session:
        await session.begin_call("shop:2:call-1", "place_order")
        begun = (BegunCall(id="shop:2:call-1", tool="place_order", fence=1, at=clock.now),)
        assert session.calls == begun
        with pytest.raises(StoreError, match="was begun before; it is not made again"):
            await session.begin_call("shop:2:call-1", "place_order")
    async with store.open("shop") as session:
        assert session.calls == begun
        with pytest.raises(StoreError, match="was begun before"):
            await session.begin_call("shop:2:call-1", "place_order")
    assert (await store.read("shop")).calls == begun


async def test_who_lost_a_session_begins_no_call_in_it(store: Store) -> None:
    async with store.open("shop") as first:
        async with store.open("shop", take_over=True) as second:
            with pytest.raises(SessionLostError):
                await first.begin_call("shop:2:call-1", "place_order")
            await second.begin_call("shop:2:call-1", "place_order")
        assert [(call.id, call.fence) for call in (await store.read("shop")).calls] == [("shop:2:call-1", 2)]


async def test_calls_and_the_fence_go_along_with_a_session(store: Store) -> None:
    async with store.open("shop") as session:
        await session.begin_call("shop:2:call-1", "place_order")
    document = json.loads(json.dumps(to_document(await store.read("shop"))))
    await store.delete("shop")
    await store.restore(from_document(document))
    async with store.open("shop") as session:
        assert [call.id for call in session.calls] == ["shop:2:call-1"]
        assert session.fence == 2  # a tool that has seen the first one does not refuse us
    older = {name: value for name, value in document.items() if name not in ("calls", "fence")}
    assert from_document(older).calls == ()


@pytest.mark.process
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="there is no such signal")
async def test_a_holder_that_was_stopped_before_its_call_does_not_make_it_after_a_takeover(
    backend: Backend, tmp_path: Path
) -> None:
    place, ledger = backend.new_place(), tmp_path / "ledger"
    ledger.touch()
    with store_process.process("order", place, str(ledger)) as holder:
        assert store_process.line(holder) == "kept"
        await asyncio.to_thread(os.waitid, os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
        async with backend.open(place) as store, store.open("s", take_over=True) as session:
            assert [message["kind"] for message in session.history] == ["request", "response"]
            assert ledger.read_text() == ""  # it was not begun, so the new holder orders
            await session.begin_call("by the new holder", "place_order")
            ledger.write_text(f"{session.fence}\n")
            holder.send_signal(signal.SIGCONT)
            assert store_process.line(holder) == "The session 's' is no longer open here; nothing was written."
            assert [call.id for call in (await store.read("s")).calls] == ["by the new holder"]
    assert ledger.read_text() == "2\n"
