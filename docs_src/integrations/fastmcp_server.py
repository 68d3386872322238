import asyncio

from fastmcp import Client, FastMCP

from toolcrib.integrations import ToolcribSearchTransform

server = FastMCP("site")


@server.tool
def rename_page(slug: str, title: str) -> str:
    """Give a page another title."""
    return f"{slug} is now called {title}"


# before: server.add_transform(BM25SearchTransform(max_results=5))
server.add_transform(ToolcribSearchTransform(max_results=5))


async def main() -> None:
    async with Client(server) as client:
        assert [tool.name for tool in await client.list_tools()] == ["search_tools", "call_tool"]
        found = await client.call_tool("search_tools", {"query": "den Titel einer Seite ändern"})
        assert found.structured_content is not None
        assert found.structured_content["result"][0]["name"] == "rename_page"
        nothing = await client.call_tool("search_tools", {"query": "brew a cup of tea"})
        assert nothing.structured_content == {"result": [], "confidence": "none"}


asyncio.run(main())
