"""A catalog tells those who follow it what changed, in order, whatever they do with it."""

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest

from tests.support import PATIENCE
from toolcrib.catalog.catalog import Catalog, Change
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def make_tool(name: str, description: str = "Do it.") -> Tool:
    return Tool(name=name, description=description, call=call)


A, B, C = make_tool("a"), make_tool("b"), make_tool("c")


def test_a_listener_hears_every_change_until_it_unsubscribes() -> None:
    catalog, heard = Catalog(), list[Change]()
    unsubscribe = catalog.subscribe(heard.append)
    newer = make_tool("a", "Do it better.")

    catalog.add(A)
    catalog.add_all([B, C])
    catalog.replace(newer)
    catalog.remove("b")
    unsubscribe()
    unsubscribe()
    catalog.remove("c")

    assert heard == [
        Change(revision=1, added=(A,)),
        Change(revision=2, added=(B, C)),
        Change(revision=3, added=(newer,), removed=("a",)),
        Change(revision=4, removed=("b",)),
    ]
    assert catalog.revision == 5


def test_nothing_is_announced_when_nothing_changed() -> None:
    catalog, heard = Catalog([A]), list[Change]()
    catalog.subscribe(heard.append)
    catalog.add_all([])
    assert (heard, catalog.revision) == ([], 1)


def test_replay_starts_with_the_tools_already_held() -> None:
    catalog, heard = Catalog([A, B]), list[Change]()
    catalog.subscribe(heard.append, replay=True)
    catalog.add(C)
    assert heard == [Change(revision=1, added=(A, B)), Change(revision=2, added=(C,))]


def test_a_change_made_by_a_listener_is_heard_by_all_after_the_one_that_caused_it() -> None:
    catalog, heard = Catalog(), list[Change]()

    def add_b_after_a(change: Change) -> None:
        if "b" not in catalog:
            catalog.add(B)

    catalog.subscribe(add_b_after_a)
    catalog.subscribe(heard.append)
    catalog.add(A)

    assert heard == [Change(revision=1, added=(A,)), Change(revision=2, added=(B,))]


def test_a_listener_that_subscribes_another_does_not_make_it_hear_old_news() -> None:
    catalog, heard = Catalog(), list[Change]()

    def grow(change: Change) -> None:
        if change.revision == 1:
            catalog.add(B)
            catalog.subscribe(heard.append, replay=True)

    catalog.subscribe(grow)
    catalog.add(A)

    assert heard == [Change(revision=2, added=(A, B))]


def test_a_listener_unsubscribed_by_an_earlier_one_hears_nothing_more() -> None:
    catalog, heard = Catalog(), list[Change]()
    catalog.subscribe(lambda change: unsubscribe())
    unsubscribe = catalog.subscribe(heard.append)
    catalog.add(A)
    assert heard == []


def test_a_listener_that_raises_is_logged_and_keeps_nobody_else_from_hearing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    catalog, heard = Catalog(), list[Change]()

    def broken(change: Change) -> None:
        raise RuntimeError("out of order")

    catalog.subscribe(broken)
    catalog.subscribe(heard.append)
    with caplog.at_level(logging.ERROR):
        catalog.add(A)

    assert heard == [Change(revision=1, added=(A,))]
    assert caplog.messages == ["A listener failed on revision 1 of the catalog"]


def test_other_threads_can_read_while_a_listener_works() -> None:
    catalog = Catalog()
    listening, read = Event(), Event()

    def listener(change: Change) -> None:
        listening.set()
        assert read.wait(PATIENCE), "the reader was locked out"

    catalog.subscribe(listener)
    adding = Thread(target=catalog.add, args=(A,))
    adding.start()
    assert listening.wait(PATIENCE)
    assert (catalog.get("a"), list(catalog), len(catalog), "a" in catalog) == (A, [A], 1, True)
    read.set()
    adding.join(PATIENCE)
    assert not adding.is_alive()


def test_changes_from_many_threads_are_heard_completely_and_in_order() -> None:
    catalog, heard = Catalog(), list[Change]()
    catalog.subscribe(heard.append)

    def work(worker: int) -> None:
        for number in range(50):
            name = f"tool_{worker}_{number}"
            catalog.add(make_tool(name))
            catalog.replace(make_tool(name, "Do it better."))
            assert name in {tool.name for tool in catalog}
            if number % 2:
                catalog.remove(name)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, worker) for worker in range(8)]:
            done.result(timeout=PATIENCE)

    followed: dict[str, Tool] = {}
    for change in heard:
        for name in change.removed:
            del followed[name]
        followed |= {tool.name: tool for tool in change.added}
    assert [change.revision for change in heard] == list(range(1, 8 * 125 + 1))
    assert set(followed) == {tool.name for tool in catalog}
    assert len(catalog) == 8 * 25
