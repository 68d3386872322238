import asyncio

from toolcrib import load_app
from toolcrib.stores import SqliteStore, log_of


async def main() -> None:
    app = load_app("notes.yaml")
    async with app, SqliteStore(None) as store:
        async with store.open("tuesday") as session:
            await app.run(session, "find the text 'plants' in the files")
        first, *events = log_of(await store.read("tuesday"))
    assert (first["type"], first["tool_calls_count"]) == ("session", 2)  # a search and a call
    finished = next(event for event in events if event["type"] == "tool_finished")
    assert finished["name"] == "fs_grep"
    assert finished["took_ms"] > 0
    assert len(events[-1]["report"]["steps"]) == events[-1]["requests"]  # tokens of each step, by part


asyncio.run(main())
