import asyncio

from pydantic_ai import Agent

from toolcrib import Catalog, CribToolset
from toolcrib.testing import scripted_model

catalog = Catalog()
deleted: list[str] = []


@catalog.tool(risk="destructive")
def delete_page(slug: str) -> str:
    """Delete a page for good."""
    deleted.append(slug)
    return f"{slug} is deleted"


async def main() -> None:
    model = scripted_model(
        ("delete_page", {"slug": "old"}),
        "Shall I delete the page old?",
        ("delete_page", {"slug": "old", "confirmed": True}),
        "It is gone.",
    )
    agent = Agent(model, toolsets=[CribToolset(catalog, pinned=["delete_page"])])

    asked = await agent.run("Delete the old page")
    assert deleted == []

    await agent.run("Yes, please", message_history=asked.all_messages())
    assert deleted == ["old"]


asyncio.run(main())
