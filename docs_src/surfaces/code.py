import asyncio
import json

from toolcrib import Catalog, Toolbox, code_surface
from toolcrib.discovery import PendingApproval

catalog = Catalog()
pages = {"home": "Home", "old": "Old pricing", "older": "Old team"}


@catalog.tool(phrases=["which pages are there"])
def list_pages(limit: int = 20) -> list[dict[str, str]]:
    """List the pages of the site."""
    return [{"id": id, "title": title} for id, title in list(pages.items())[:limit]]


@catalog.tool(risk="destructive")
def delete_page(id: str) -> str:
    """Delete a page for good."""
    return f"{pages.pop(id)} is gone"


PROGRAM = """
done = []
for page in await list_pages():
    if page["title"].startswith("Old"):
        try:
            done.append(await delete_page(page["id"]))
        except Denied:
            done.append("kept " + page["title"])
done
"""


def ask(pending: PendingApproval) -> bool:
    """Show the user the tool, its arguments and the program with the line marked: here they keep the team."""
    assert pending.pause is not None
    assert '>   6 |             done.append(await delete_page(page["id"]))' in pending.pause.listing
    return pending.arguments["id"] != "older"


async def main() -> None:
    toolbox = Toolbox(catalog, surface=code_surface)
    found = await toolbox.call("tool_search", {"query": "list pages"})
    assert "list_pages(limit: int = 20) -> list[dict[str, str]]: List the pages of the site." in found.text
    call = {"id": "1", "function": {"name": "run_code", "arguments": json.dumps({"code": PROGRAM})}}  # of the model
    message = await toolbox.handle(call, confirm=ask)
    assert message["content"] == '["Old pricing is gone","kept Old team"]'


asyncio.run(main())
assert list(pages) == ["home", "older"]
