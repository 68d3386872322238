import asyncio
import json

from toolcrib import Catalog, Toolbox, search_surface

catalog = Catalog()
deleted: list[str] = []


@catalog.tool(risk="destructive")
def delete_page(slug: str) -> str:
    """Delete a page for good."""
    deleted.append(slug)
    return f"{slug} is deleted"


async def main() -> None:
    toolbox = Toolbox(catalog, surface=search_surface)

    toolbox.begin_turn("Delete the old page")
    call = {"type": "tool_use", "id": "1", "name": "delete_page", "input": {"slug": "old"}}
    asked = await toolbox.handle(call)  # a call in the form of any SDK
    assert asked["content"].startswith("requires_confirmation")  # the model asks, and the turn ends

    stored = json.dumps(toolbox.snapshot())  # the next turn may be in another process
    toolbox = Toolbox.restore(json.loads(stored), catalog, surface=search_surface)

    toolbox.begin_turn("Yes, please")
    call = {"type": "tool_use", "id": "2", "name": "delete_page", "input": {"slug": "old", "confirmed": True}}
    done = await toolbox.handle(call)
    assert (done["content"], deleted) == ("old is deleted", ["old"])


asyncio.run(main())
