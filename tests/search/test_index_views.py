"""An index of some tools only: as if the others had never been there."""

from collections.abc import Callable

import pytest

from tests.support.search import make
from toolcrib import Catalog, ToolIndex
from toolcrib.search.index import MAX_VIEWS
from toolcrib.search.result import SearchResult
from toolcrib.tools.tool import Tool

TOOLS = [
    make("get_page", "Get a page of the site.", category="pages"),
    make("delete_page", "Delete a page for good.", category="pages"),
    make("find_invoice", "Find an invoice by its number.", category="billing"),
    make("pay_invoice", "Pay an open invoice.", category="billing"),
    make("send_mail", "Send an e-mail to a customer.", category="mail"),
]
ASKED = ["delete a page", "pay the invoice", "invoice page mail", "Rechnung bezahlen", "get_page", "how are you?"]


def no_billing(tool: Tool) -> bool:
    return tool.category != "billing"


def told(result: SearchResult) -> tuple[object, ...]:
    return result.hits, result.confidence, result.path, result.reason


@pytest.mark.parametrize("query", ASKED)
def test_a_view_answers_as_an_index_that_never_had_the_others(query: str) -> None:
    view = ToolIndex(Catalog(TOOLS)).only(no_billing)
    alone = ToolIndex(Catalog(tool for tool in TOOLS if no_billing(tool)))
    assert told(view.search(query)) == told(alone.search(query))


def test_a_view_follows_the_catalog() -> None:
    catalog = Catalog(TOOLS)
    view = ToolIndex(catalog).only(no_billing)
    assert len(view) == 3
    catalog.add(make("rename_page", "Rename a page.", category="pages"))
    catalog.add(make("void_invoice", "Cancel an invoice.", category="billing"))
    catalog.remove("send_mail")
    catalog.remove("pay_invoice")
    assert len(view) == 3
    assert view.search("rename the page").hits[0].name == "rename_page"


def test_a_tool_that_is_replaced_may_come_into_view_or_leave_it() -> None:
    catalog = Catalog(TOOLS)
    view = ToolIndex(catalog).only(no_billing)
    catalog.replace(make("find_invoice", "Find an invoice by its number.", category="mail"))
    catalog.replace(make("send_mail", "Send an e-mail to a customer.", category="billing"))
    assert [hit.name for hit in view.search("find an invoice").hits][:1] == ["find_invoice"]
    assert "send_mail" not in [hit.name for hit in view.search("send an e-mail", limit=9).hits]


def test_the_same_condition_gives_the_same_view() -> None:
    index = ToolIndex(Catalog(TOOLS))
    assert index.only(no_billing) is index.only(no_billing)


def test_what_one_learns_all_know() -> None:
    index = ToolIndex(Catalog(TOOLS))
    view = index.only(no_billing)
    before = told(view.search("plumbus"))
    for turn in range(40):
        index.learn(f"plumbus number {turn}", "send_mail")
    assert view.search("plumbus").hits[0].name == "send_mail"
    view.forget("send_mail")
    assert told(view.search("plumbus")) == before


def test_views_nobody_asked_for_lately_follow_no_more() -> None:
    catalog = Catalog(TOOLS)
    index = ToolIndex(catalog)

    def longer_than(size: int) -> Callable[[Tool], bool]:
        return lambda tool: len(tool.name) > size

    conditions = [longer_than(size) for size in range(MAX_VIEWS + 1)]
    views = [index.only(condition) for condition in conditions]
    catalog.add(make("rename_the_whole_long_page", "Rename a page."))
    assert [len(view) for view in views[:2]] == [5, 6]
    assert len(index.only(conditions[0])) == 6
