import asyncio

from toolcrib import Crib, run
from toolcrib.stores import SqliteStore
from toolcrib.testing import scripted_model
from toolcrib_cms import build

cms = build(":memory:")


def crib(mode: str, *said: str | tuple[str, dict[str, str]]) -> Crib:
    return Crib(cms.catalog, model=scripted_model(*said), mode=mode)


async def main() -> None:
    call = ("cms_searchImages", {"query": "hero"})
    async with SqliteStore(None) as store, store.open("tuesday") as session:
        with_search = crib("discovery", ("tool_search", {"query": "find image"}), call, "Here it is.")
        await run(session, "Find the hero image", crib=with_search)

        # Back to all tools, in the middle of a conversation.
        done = await run(session, "And one of a fern", crib=crib("direct", call, "Here it is."))
        assert (done.answer, done.failed) == ("Here it is.", None)

        # A model that still calls `tool_search` is told what there is, and the run goes on.
        habit = crib("direct", ("tool_search", {"query": "find image"}), call, "Here it is.")
        assert (await run(session, "And a mountain", crib=habit)).answer == "Here it is."

        # Forward again: what the first search found is still active.
        await run(session, "And a lake", crib=crib("discovery", call, "Here it is."))
        assert session.toolbox is not None
        assert "cms_searchImages" in session.toolbox["active"]


asyncio.run(main())
