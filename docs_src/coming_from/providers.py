import asyncio
from typing import Any

from pages import TOOLS

from toolcrib import Catalog, Toolbox, search_surface

catalog = Catalog()
catalog.add_functions(TOOLS)

# Before: Anthropic searches, by BM25, in the definitions that it holds back.
definitions = Toolbox(catalog, mode="direct").anthropic_tools()
before: list[dict[str, Any]] = [
    {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
    *({**one, "defer_loading": True} for one in definitions),
]

# After: the same definitions are held back, and `tool_search` is a call that your loop answers.
toolbox = Toolbox(catalog, surface=search_surface)
after = toolbox.anthropic_tools(native=True)
assert [one["name"] for one in after if not one.get("defer_loading")] == ["tool_search"]
assert {one["name"] for one in after[1:]} == {one["name"] for one in before[1:]}


async def search(query: str) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "call-1", "name": "tool_search", "input": {"query": query}}
    return (await toolbox.handle(call, native=True))["content"]


async def main() -> None:
    assert await search("den Titel einer Seite ändern") == [{"type": "tool_reference", "tool_name": "rename_page"}]
    [nothing] = await search("brew a cup of tea")
    assert nothing["text"].startswith('No tool fits "brew a cup of tea".')

    # OpenAI: `{"type": "tool_search"}` becomes one that the client executes, for the Responses API.
    [search_here] = Toolbox(catalog, surface=search_surface).responses_tools(native=True)
    assert (search_here["type"], search_here["execution"]) == ("tool_search", "client")


asyncio.run(main())
