import asyncio

from toolcrib import Catalog, Crib, ToolcribError, confirm, run
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
        ("delete_page", {"slug": "old", "confirmed": True}),  # a model that agrees in the user's place
        "Shall I?",
        ("delete_page", {"slug": "home"}),  # and, after the yes, wants something else
        "Done.",
    )
    crib = Crib(catalog, model=model, pinned=["delete_page"])
    async with SqliteStore(None) as store, store.open() as session:
        (question,) = (await run(session, "Delete the old page", crib=crib)).confirmations
        assert deleted == []

        done = await collect(confirm(session, question.id, True, crib=crib))
        assert deleted == ["old"]  # what was agreed to, and not `home`
        assert [(one.tool, dict(one.arguments)) for one in done.confirmations] == [("delete_page", {"slug": "home"})]

        try:
            await collect(confirm(session, question.id, True, crib=crib))  # the same yes, a second time
        except ToolcribError as error:
            print(error)
        assert deleted == ["old"]


asyncio.run(main())
