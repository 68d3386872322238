import asyncio
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from pages import TOOLS

from toolcrib.integrations import ToolcribSearchTransform


def server_with(search: BM25SearchTransform | ToolcribSearchTransform) -> FastMCP[None]:
    server: FastMCP[None] = FastMCP("site", tools=TOOLS)
    server.add_transform(search)
    return server


before = server_with(BM25SearchTransform(max_results=5))
after = server_with(ToolcribSearchTransform(max_results=5))


async def search(server: FastMCP[None], query: str) -> dict[str, Any]:
    async with Client(server) as client:
        assert [tool.name for tool in await client.list_tools()] == ["search_tools", "call_tool"]
        answer = (await client.call_tool("search_tools", {"query": query})).structured_content or {}
        return {**answer, "result": [tool["name"] for tool in answer["result"]]}


async def main() -> None:
    change_title = "den Titel einer Seite ändern"
    assert await search(before, change_title) == {"result": []}
    assert await search(after, change_title) == {"result": ["rename_page"], "confidence": "sure"}

    tea = "brew a cup of tea"
    assert await search(before, tea) == {"result": ["list_orders"]}  # it shares "of" with it
    assert await search(after, tea) == {"result": [], "confidence": "none"}


asyncio.run(main())
