import asyncio

from toolcrib import Catalog, Crib, confirm, run
from toolcrib.agent import collect
from toolcrib.stores import SqliteStore
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
        ("delete_page", {"slug": "old", "confirmed": True}),  # in a later turn, after the user's yes
        "It is gone.",
        ("delete_page", {"slug": "home"}),
        "Shall I delete home too?",
        "Home is gone as well.",
    )
    crib = Crib(catalog, model=model, pinned=["delete_page"])
    async with SqliteStore(None) as store, store.open("tuesday") as session:
        done = await run(session, "Delete the old page", crib=crib)
        assert [(question.tool, dict(question.arguments)) for question in done.confirmations] == [
            ("delete_page", {"slug": "old"})
        ]
        assert deleted == []

        await run(session, "Yes, please", crib=crib)  # in words
        assert deleted == ["old"]

        done = await run(session, "And the page home", crib=crib)
        (question,) = done.confirmations
        done = await collect(confirm(session, question.id, True, crib=crib))  # or by a button
        assert deleted == ["old", "home"]
        assert done.answer == "Home is gone as well."


asyncio.run(main())
