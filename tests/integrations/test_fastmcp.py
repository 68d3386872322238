"""Our search as a search transform of a FastMCP server, through a client of it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.client import CallToolResult
from fastmcp.exceptions import ToolError
from fastmcp.server.transforms.search import BM25SearchTransform, serialize_tools_for_output_markdown
from fastmcp.server.transforms.search.base import BaseSearchTransform
from fastmcp.tools.base import Tool
from mcp_types import TextContent

from toolcrib.integrations.fastmcp import ToolcribSearchTransform

NOTHING = "Search once more in other words if one could help; else answer without tools."
REQUEST = "den Titel einer Seite ändern"


def server(transform: BaseSearchTransform) -> FastMCP:
    made = FastMCP("site")

    @made.tool
    def rename_page(slug: str, title: str) -> str:
        """Give a page another title."""
        return f"{slug} is now called {title}"

    @made.tool
    def send_invoice(customer: str) -> str:
        """Send an invoice to a customer."""
        return f"sent to {customer}"

    @made.tool(name="images.search")
    def search_images(query: str) -> list[str]:
        """Search images by what they show."""
        return [query]

    made.add_transform(transform)
    return made


def text_of(result: CallToolResult) -> str:
    return "\n".join(one.text for one in result.content if isinstance(one, TextContent))


async def test_one_line_replaces_fastmcps_own_search_and_finds_in_any_language() -> None:
    found: list[list[str]] = []
    for transform in (BM25SearchTransform(), ToolcribSearchTransform()):
        async with Client(server(transform)) as client:
            assert [tool.name for tool in await client.list_tools()] == ["search_tools", "call_tool"]
            result = await client.call_tool("search_tools", {"query": REQUEST})
            assert result.structured_content is not None
            found.append([tool["name"] for tool in result.structured_content["result"]])
    assert found[0] == []
    assert found[1][0] == "rename_page"


async def test_a_found_tool_is_called_through_the_server() -> None:
    async with Client(server(ToolcribSearchTransform())) as client:
        for call in (
            ("call_tool", {"name": "rename_page", "arguments": {"slug": "home", "title": "Start"}}),
            ("rename_page", {"slug": "home", "title": "Start"}),
        ):
            assert "home is now called Start" in str((await client.call_tool(*call)).content)


async def test_a_search_says_how_sure_it_is_and_gives_few_tools_when_it_is() -> None:
    async with Client(server(ToolcribSearchTransform())) as client:
        result = await client.call_tool("search_tools", {"query": "rename_page"})
    assert result.structured_content is not None
    assert result.structured_content["confidence"] == "sure"
    assert [tool["name"] for tool in result.structured_content["result"]] == ["rename_page"]
    head, definitions = text_of(result).split("\n", 1)
    assert head == "Found (sure)."
    assert json.loads(definitions)[0]["inputSchema"]["required"] == ["slug", "title"]


async def test_when_nothing_fits_it_gives_nothing_and_says_so() -> None:
    async with Client(server(ToolcribSearchTransform())) as client:
        result = await client.call_tool("search_tools", {"query": "brew a cup of tea"})
    assert result.structured_content == {"result": [], "confidence": "none"}
    assert text_of(result) == f'No tool fits "brew a cup of tea". {NOTHING}'


async def test_a_name_that_our_catalog_could_not_hold_is_found_as_it_is() -> None:
    async with Client(server(ToolcribSearchTransform())) as client:
        result = await client.call_tool("search_tools", {"query": "find a picture of the sea"})
    assert result.structured_content is not None
    assert result.structured_content["result"][0]["name"] == "images.search"


async def test_pinned_tools_names_and_serializers_are_those_of_fastmcp() -> None:
    transform = ToolcribSearchTransform(
        max_results=1,
        always_visible=["send_invoice"],
        search_tool_name="find",
        call_tool_name="use",
        search_result_serializer=serialize_tools_for_output_markdown,
    )
    async with Client(server(transform)) as client:
        assert [tool.name for tool in await client.list_tools()] == ["send_invoice", "find", "use"]
        result = await client.call_tool("find", {"query": "rename a page"})
        assert "### rename_page" in text_of(result)
        pinned = await client.call_tool("find", {"query": "send_invoice"})
        assert "send_invoice" not in text_of(pinned).partition("\n")[2], "it is listed already"


async def test_what_a_caller_may_not_see_is_not_found() -> None:
    hidden = server(ToolcribSearchTransform())
    hidden.disable(names={"rename_page"})
    async with Client(hidden) as client:
        result = await client.call_tool("search_tools", {"query": "rename_page"})
        assert "rename_page" not in str(result.structured_content)
        with pytest.raises(ToolError, match="Unknown tool"):
            await client.call_tool("call_tool", {"name": "rename_page", "arguments": {}})


def play_music(song: str) -> str:
    """Play music."""
    return song


async def test_tools_that_come_later_are_found() -> None:
    made = server(ToolcribSearchTransform())
    async with Client(made) as client:
        before = await client.call_tool("search_tools", {"query": "play some music"})
        made.add_tool(Tool.from_function(play_music))
        after = await client.call_tool("search_tools", {"query": "play some music"})
    names: list[Sequence[Any]] = [
        [tool["name"] for tool in (one.structured_content or {})["result"]] for one in (before, after)
    ]
    assert names == [[], ["play_music"]]
