"""Our search behind Pydantic AI's own `ToolSearch`, and the check of a catalog in a test."""

import pytest
from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import ToolSearch

from tests.support.agent import Shop, scripted
from toolcrib.errors import UnknownToolError
from toolcrib.integrations.pydantic_ai import ToolcribSearch
from toolcrib.testing import assert_finds


def rename_page(slug: str, title: str) -> str:
    """Give a page another title."""
    return f"{slug} is now called {title}"


def send_invoice(customer: str) -> str:
    """Send an invoice to a customer."""
    return f"sent to {customer}"


async def test_pydantic_ais_own_search_finds_with_our_index() -> None:
    script, model = scripted(
        [("search_tools", {"queries": ["den Titel einer Seite ändern"]})],
        [("rename_page", {"slug": "home", "title": "Start"})],
        "Done.",
    )
    tools: list[Tool[object]] = [Tool(rename_page, defer_loading=True), Tool(send_invoice, defer_loading=True)]
    agent = Agent(model, tools=tools, capabilities=[ToolSearch(strategy=ToolcribSearch(limit=1))])
    assert (await agent.run("Rename home")).output == "Done."
    assert script.tools[:2] == [["search_tools"], ["rename_page", "search_tools"]]


def test_a_catalog_that_finds_what_it_should_passes() -> None:
    assert_finds(Shop().catalog, {"change the title of a page": "rename_page", "find a photo": "search_images"})


def test_every_request_that_misses_its_tool_is_named() -> None:
    with pytest.raises(AssertionError, match="'rename a page' did not find search_images, but rename_page"):
        assert_finds(Shop().catalog, {"rename a page": "search_images"}, within=1)
    with pytest.raises(UnknownToolError):
        assert_finds(Shop().catalog, {"rename a page": "renamepage"})
