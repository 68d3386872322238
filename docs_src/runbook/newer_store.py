import asyncio
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib.errors import StoreError
from toolcrib.stores import SqliteStore


async def main(folder: Path) -> None:
    file = folder / "sessions.db"
    async with SqliteStore(file) as store, store.open("tuesday") as session:
        await session.append([{"role": "user", "text": "find the hero image"}])

        # A copy while the server runs: SQLite's own, not `cp`, which would miss what is still in the journal.
        with sqlite3.connect(file) as running, sqlite3.connect(folder / "before-upgrade.db") as copy:
            running.backup(copy)
        running.close()
        copy.close()

    newer = sqlite3.connect(file)
    newer.execute("PRAGMA user_version = 999")  # as if a later Toolcrib had brought the file up
    newer.close()
    said = ""
    try:
        async with SqliteStore(file) as store:
            await store.sessions()
    except StoreError as error:
        said = f"{error} {error.hint}"
    assert "was written by a newer Toolcrib" in said
    assert said.endswith("Update Toolcrib: pip install --upgrade toolcrib")

    async with SqliteStore(folder / "before-upgrade.db") as store:  # the way back
        assert len((await store.read("tuesday")).history) == 1


with TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder)))
