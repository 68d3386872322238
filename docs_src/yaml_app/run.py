import asyncio

from toolcrib import load_app
from toolcrib.stores import SqliteStore


async def main() -> None:
    app = load_app("notes.yaml")
    async with app, SqliteStore(None) as store, store.open("tuesday") as session:
        (app.workdir / "plan.txt").write_text("Water the plants.")
        done = await app.run(session, "find the text 'plants' in the files")
        assert "Water the plants." in done.answer


asyncio.run(main())
