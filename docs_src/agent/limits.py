import asyncio

from toolcrib import Catalog, Crib, Limits, run
from toolcrib.stores import SqliteStore
from toolcrib.testing import scripted_model


async def main() -> None:
    model = scripted_model(*[("tool_search", {"query": "anything"})] * 3, "Here I am.")
    crib = Crib(Catalog(), model=model, limits=Limits(steps=3, seconds=60))
    async with SqliteStore(None) as store, store.open() as session:
        done = await run(session, "Search on and on", crib=crib)
        assert done.failed is not None
        assert done.failed.message == "No answer after 3 steps."
        assert (await run(session, "Still there?", crib=crib)).answer == "Here I am."


asyncio.run(main())
