"""Real processes on one database that is restarted, while some of them are killed: nothing is lost, nothing twice."""

import asyncio
from contextlib import ExitStack

import pytest

from benchmarks.postgres_server import PostgresServer, missing
from tests.support.store_process import line, process, tell
from toolcrib.stores.record import SessionRecord
from toolcrib.stores.store import open_store

pytestmark = [pytest.mark.process, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


async def read(place: str) -> SessionRecord:
    async with open_store(place) as store:
        return await store.read("s")


def test_processes_go_on_when_the_database_restarts_under_them() -> None:
    with PostgresServer(in_memory=True) as server, ExitStack() as running:
        place = server.new_database()
        children = {name: running.enter_context(process("compete", place, name)) for name in "abc"}
        assert [line(child) for child in children.values()] == ["ready"] * 3
        for child in children.values():
            tell(child)
        server.restart()
        assert [line(child) for child in children.values()] == ["done"] * 3
        history = asyncio.run(read(place)).history
    assert sorted(history) == sorted("abc" * 15)
    turns = [history[start : start + 3] for start in range(0, len(history), 3)]
    assert all(len(set(turn)) == 1 for turn in turns)  # nobody wrote in another's turn


def test_a_writer_that_lives_through_a_restart_keeps_every_step_once() -> None:
    with PostgresServer(in_memory=True) as server:
        place = server.new_database()
        with process("write", place) as writer:
            assert line(writer) == "ready"
            said = [line(writer) for _ in range(10)]
            server.restart()
            said += [line(writer) for _ in range(20)]
            writer.kill()
            assert writer.stdout is not None
            said += writer.stdout.read().split("\n")[:-1]  # half a line says nothing
        record = asyncio.run(read(place))
    kept = [int(text.split()[1]) for text in said if text.startswith("kept")]
    taken = {text.split()[1] for text in said if text.startswith("taken")}
    assert kept == list(range(len(kept)))
    assert list(record.history) == [event.event for event in record.events] == list(range(len(record.history)))
    assert len(kept) <= len(record.history) <= len(kept) + 1
    assert taken <= {one.id for one in record.confirmations if one.settled_as}
