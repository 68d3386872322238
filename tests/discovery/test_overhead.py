"""What reaching tools costs, measured on the real surface."""

from typing import Any

import pytest

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.costs import Overhead, compact_overhead, direct_overhead, discovery_overheads, sample_queries
from toolcrib.discovery.surfaces.browse import browse_surface
from toolcrib.discovery.tokens import definitions_tokens
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Protocol, Tool


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def a_tool(name: str, description: str, **fields: Any) -> Tool:
    return Tool(name=name, description=description, call=call, **fields)


MAIL = a_tool("send_mail", "Send an e-mail to a person.", protocol=Protocol(before="Look the address up."))
PHOTO = a_tool("find_photo", "Find a photo by what it shows.", phrases=("look for a picture",))
BILL = a_tool("make_bill", "Write an invoice for a customer.")
TOOLS = [BILL, MAIL, PHOTO]

pytestmark = pytest.mark.anyio


def test_direct_is_every_definition() -> None:
    assert direct_overhead(TOOLS) == Overhead(definitions=definitions_tokens(TOOLS), visible=3)


def test_compact_is_a_list_and_one_tool() -> None:
    spent = compact_overhead(TOOLS)
    assert (spent.visible, spent.results, spent.protocols) == (1, 0, 0)
    assert spent.tokens == spent.definitions + spent.prompt
    assert compact_overhead(TOOLS[:1]).prompt < spent.prompt


async def test_discovery_grows_by_what_was_found_and_said() -> None:
    catalog = Catalog(TOOLS)
    steps, searches = await discovery_overheads(catalog, ["send an e-mail", "find a photo"])
    assert [search.query for search in searches] == ["send an e-mail", "find a photo"]
    assert searches[0].activated[0] == "send_mail"
    start, first, second = steps
    assert (start.visible, start.results, start.protocols) == (1, 0, 0)
    assert first.definitions - start.definitions == definitions_tokens(map(catalog.get, searches[0].activated))
    assert first.protocols == second.protocols > 0
    assert second.results > first.results > 0
    assert second.tokens > first.tokens > start.tokens


async def test_discovery_starts_the_same_for_any_catalog() -> None:
    small, _ = await discovery_overheads(Catalog(TOOLS[:1]), [])
    large, _ = await discovery_overheads(Catalog(TOOLS), [])
    assert small == large


async def test_another_surface_can_be_measured() -> None:
    steps, _ = await discovery_overheads(Catalog(TOOLS), [], surface=browse_surface)
    assert [step.visible for step in steps] == [5]


def test_own_queries_are_phrases_or_sentences_of_tools_spread_over_the_catalog() -> None:
    assert sample_queries([]) == []
    assert sample_queries([BILL]) == ["Write an invoice for a customer."]
    assert sample_queries(TOOLS) == ["Send an e-mail to a person.", "look for a picture"]
    assert sample_queries([a_tool("nameless", "")]) == ["nameless"]
