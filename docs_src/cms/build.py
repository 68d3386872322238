import asyncio

import toolcrib_cms
from toolcrib import Crib, run
from toolcrib.stores import SqliteStore

cms = toolcrib_cms.build(":memory:")  # without an argument: in the user's data folder
assert len(cms.catalog) == 45


async def ask(text: str) -> str:
    async with SqliteStore(None).open() as session:
        return (await run(session, text, crib=Crib(cms.catalog, model="offline"))).answer


assert asyncio.run(ask("what's the hero heading?")) == "**heading**: Bring the outside in"
assert "Bring the outside in" in cms.render_site("/site/").html  # what visitors see

[last, *_] = cms.history("page_old-pricing")  # every write is kept, and `cms.restore(last["revision"])` brings it back
assert last["action"] == "create"
