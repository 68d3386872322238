"""Real processes on one store: killed at any moment, starting at once, competing for one session."""

import asyncio
import os
import random
import signal
import sys
import threading

import pytest

from tests.support.store_process import line, process, tell
from tests.support.stores import Backend
from toolcrib.stores.record import Refusal, SessionRecord
from toolcrib.stores.store import open_store

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL"),
]


def killed_somewhere(place: str, chance: random.Random) -> list[str]:
    """What a writer said until it was killed, at no moment in particular."""
    with process("write", place) as child:
        said = [line(child) for _ in range(chance.choice([1, 1, chance.randint(2, 40)]))]
        threading.Event().wait(chance.uniform(0, 0.02))  # somewhere in the opening, a step, or between two
        child.send_signal(signal.SIGKILL)
        assert child.stdout is not None
        said += child.stdout.read().split("\n")[:-1]  # what it said before it died; half a line says nothing
        if hasattr(os, "waitid"):
            # Dead, but not yet noticed by its parent: such a process must not hold the session.
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        else:
            child.wait()
        record = asyncio.run(opened_at_once(place))
        assert child.wait() == -signal.SIGKILL
    return [*said, str(len(record.history))]


async def opened_at_once(place: str) -> SessionRecord:
    async with open_store(place) as store:
        async with store.open("s"):
            pass
        return await store.read("s")


@pytest.mark.parametrize("kills", [6, pytest.param(60, marks=pytest.mark.chaos)])
def test_a_killed_process_loses_at_most_the_running_step(backend: Backend, kills: int) -> None:
    place = backend.new_place()
    chance = random.Random(20260504)
    kept = 0
    taken: set[str] = set()
    for _ in range(kills):
        *said, length = killed_somewhere(place, chance)
        before = kept
        acknowledged = [text.split()[1] for text in said if text.startswith("kept")]
        taken |= {text.split()[1] for text in said if text.startswith("taken")}
        kept = int(length)
        assert acknowledged == [str(before + number) for number in range(len(acknowledged))]
        assert before + len(acknowledged) <= kept <= before + len(acknowledged) + 1
        assert backend.problems(place) == []
    assert kept > kills  # it was killed at work, not only at the start

    record = asyncio.run(opened_at_once(place))
    assert list(record.history) == [event.event for event in record.events] == list(range(kept))
    assert (record.usage["steps"], record.memory.used[0].count, record.toolbox) == (kept, kept, {"at": kept - 1})
    assert taken <= {one.id for one in record.confirmations if one.settled_as}
    assert asyncio.run(taken_again(place, taken)) == {Refusal.USED}


async def taken_again(place: str, ids: set[str]) -> set[object]:
    async with open_store(place) as store, store.open("s") as session:
        await session.append(["the session is usable"])
        return {await session.take_confirmation(id, "digest") for id in ids}


def test_the_second_of_two_processes_is_told_who_has_the_session(backend: Backend) -> None:
    place = backend.new_place()
    with process("hold", place) as holder:
        assert line(holder) == "open"
        with process("try", place) as second:
            said = line(second)
            assert said.startswith(f"The session 's' is busy: process {holder.pid} on ")
        tell(holder)
        assert line(holder) == "closed"
    with process("try", place) as third:
        assert line(third) == "open"


def test_a_session_is_free_at_once_when_its_holder_was_killed(backend: Backend) -> None:
    place = backend.new_place()
    with process("hold", place) as holder:
        assert line(holder) == "open"
        holder.kill()
        holder.wait()
        with process("try", place) as second:
            assert line(second) == "open"


def test_processes_that_start_at_once_make_one_store_and_take_turns(backend: Backend) -> None:
    place = backend.new_place()
    with (
        process("compete", place, "a") as a,
        process("compete", place, "b") as b,
        process("compete", place, "c") as c,
        process("compete", place, "d") as d,
    ):
        for child in (a, b, c, d):
            assert line(child) == "ready"
        for child in (a, b, c, d):
            tell(child)
        assert [line(child) for child in (a, b, c, d)] == ["done"] * 4
    history = asyncio.run(opened_at_once(place)).history
    assert sorted(history) == sorted("abcd" * 15)
    turns = [history[start : start + 3] for start in range(0, len(history), 3)]
    assert all(len(set(turn)) == 1 for turn in turns)
    assert backend.problems(place) == []
