import asyncio
from typing import Any

from pages import TOOLS
from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import ToolSearch

from toolcrib.integrations import ToolcribSearch
from toolcrib.testing import scripted_model

tools: list[Tool[Any]] = [Tool(one, defer_loading=True) for one in TOOLS]
before: ToolSearch[object] = ToolSearch()
after: ToolSearch[object] = ToolSearch(strategy=ToolcribSearch())


async def found(search: ToolSearch[object], query: str) -> list[str]:
    model = scripted_model(("search_tools", {"queries": [query]}), "Done.")  # yours: "openai:gpt-5.4"
    done = await Agent(model, tools=tools, capabilities=[search]).run("...")
    [answer] = [part for message in done.all_messages() for part in message.parts if part.part_kind == "tool-return"]
    content: Any = answer.content
    return [tool["name"] for tool in content["discovered_tools"]]


async def main() -> None:
    change_title = "den Titel einer Seite ändern"
    assert await found(before, change_title) == []
    assert await found(after, change_title) == ["rename_page"]

    tea = "brew a cup of tea"
    assert await found(before, tea) == ["rename_page", "publish_page", "list_orders"]  # they share "a" and "of" with it
    assert await found(after, tea) == []


asyncio.run(main())
