import asyncio

from toolcrib import Crib, run
from toolcrib.stores import SqliteStore
from toolcrib.testing import scripted_model
from toolcrib_cms import build

cms = build(":memory:")  # yours: your catalog
SEARCH = ("tool_search", {"query": "find image"})
CALL = ("cms_searchImages", {"query": "hero"})


async def tokens(mode: str) -> tuple[int, list[str]]:
    # Yours: `model="openai:gpt-5.4"`. This one says what it is told to, so that only the tools differ.
    model = scripted_model(*([SEARCH] if mode == "discovery" else []), CALL, "It is hero-greenhouse.jpg.")
    async with SqliteStore(None) as store, store.open() as session:
        done = await run(session, "Find the hero image", crib=Crib(cms.catalog, model=model, mode=mode))
    report = done.usage.report
    return max(step["definitions"] for step in report["steps"]), report["tools_used"]


async def main() -> None:
    before, calls_before = await tokens("direct")
    after, calls_after = await tokens("discovery")
    assert calls_before == calls_after == ["cms_searchImages"]
    assert before > 5_000
    assert after < 400


asyncio.run(main())
