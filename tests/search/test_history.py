"""The same tools give the same answers, whatever was added, replaced or removed before, and in whatever order."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import attrgetter
from random import Random
from typing import Any

import pytest

from tests.support.search import make
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.corpus import GAP, NameOrder
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import SearchOptions
from toolcrib.search.result import SearchResult
from toolcrib.tools.tool import Tool

VERBS = [
    "create",
    "delete",
    "list",
    "update",
    "publish",
    "archive",
    "rename",
    "move",
    "copy",
    "find",
    "export",
    "import",
    "upload",
    "approve",
    "cancel",
]
THINGS = [
    "invoice",
    "customer",
    "page",
    "image",
    "menu",
    "order",
    "ticket",
    "user",
    "report",
    "contract",
    "calendar",
    "meeting",
    "folder",
    "song",
]
KINDS = ["old", "new", "big", "small", "red", "overdue", "draft", "shared", "private", "weekly", "hidden"]


def tool(number: int) -> Tool:
    """Many of these have the same texts but for a number, and equal scores."""
    chance = Random(number // 3)
    verb, kind, thing = chance.choice(VERBS), chance.choice(KINDS), chance.choice(THINGS)
    return make(f"{verb}_{kind}_{thing}_{number}", f"{verb.title()} the {kind} {thing}.")


def requests(count: int = 60) -> Iterator[str]:
    chance = Random(7)
    for _ in range(count):
        yield " ".join(chance.choice([*VERBS, *THINGS, *KINDS]) for _ in range(chance.randint(1, 5)))
    yield from ("mach eine Rechnung", "overdu invoice", "how are you?", "create_old_page_9", "gather 請求書")


def shuffled() -> Catalog:
    tools = [tool(number) for number in range(1_000)]
    Random(3).shuffle(tools)
    return Catalog(tools)


def replaced(catalog: Catalog, *, times: int = 400) -> None:
    chance = Random(4)
    for turn in range(times):
        old = tool(chance.randrange(1_000))
        catalog.replace(replace(old, description=f"{old.description} Then number {turn}."))


def removed_and_added(catalog: Catalog) -> None:
    for number in range(0, 1_000, 3):
        catalog.remove(tool(number).name)
    catalog.add_all([tool(number) for number in range(1_000, 1_500)])


def answers(index: ToolIndex) -> list[SearchResult]:
    return [index.search(request, limit=10) for request in requests()]


@pytest.mark.parametrize("change", [None, replaced, removed_and_added], ids=["shuffled", "replaced", "left and came"])
def test_the_same_tools_give_the_same_answers(change: Callable[[Catalog], None] | None) -> None:
    catalog = shuffled()
    old = ToolIndex(catalog)
    old.search("invoice")
    if change is not None:
        change(catalog)
        old.search("invoice")
    fresh = ToolIndex(Catalog(sorted(catalog, key=attrgetter("name"))))
    for one, other in zip(answers(old), answers(fresh), strict=True):
        assert (one.names, one.path, one.reason) == (other.names, other.path, other.reason)
        assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in other.hits], abs=1e-9)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-9)


def test_equal_tools_are_found_in_the_order_of_their_names() -> None:
    names = [f"pay_bill_{letter}" for letter in "fdecb"]
    index = ToolIndex(Catalog([make(name, "Pay a bill.") for name in names]), options=SearchOptions(arms="lexical"))
    assert index.search("pay the bill").names == tuple(sorted(names))


def test_a_catalog_that_changes_faster_than_it_is_read_is_searched() -> None:
    catalog = Catalog([make("send_mail", "Send an e-mail."), make("get_weather", "Tell the weather.")])
    index = ToolIndex(catalog)
    changes: Any = index._announced  # pyright: ignore[reportPrivateUsage] - a change while changes are read
    changes.append(_Endless(changes.append))
    assert index.search("send an e-mail").names[0] == "send_mail"


class _Endless:
    """A change that announces the next one as soon as it is read."""

    def __init__(self, announce: Callable[["_Endless"], object]) -> None:
        self._announce = announce

    @property
    def removed(self) -> list[str]:
        self._announce(self)
        return []

    added: tuple[Tool, ...] = ()


def test_names_keep_their_order_however_many_come_between() -> None:
    ids: dict[str, int] = {}
    order = NameOrder()

    def add(*names: str) -> None:
        ids.update(dict(zip(names, range(len(ids), len(ids) + len(names)), strict=True)))
        order.add(names, ids)

    add("a", "z")
    for turn in range(100):  # each halves the gap behind `a`
        add(f"b{100 - turn:03}")
    add(*(f"c{number:03}" for number in range(100)))
    order.remove("z")
    del ids["z"]
    by_place = sorted(ids, key=lambda name: order.places[ids[name]])
    assert by_place == sorted(ids)
    assert len({int(order.places[number]) for number in ids.values()}) == len(ids)
    assert int(order.places.max()) <= GAP * (len(ids) + 2)
