import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from toolcrib.stores import SqliteStore


async def main(file: Path) -> None:
    async with SqliteStore(file) as store, store.open("tuesday") as session:  # made when it is not there
        await session.append([{"role": "user", "text": "find the hero image"}])
        await session.append(
            [{"role": "assistant", "text": "Here it is."}],
            memory=session.memory.with_discovered(["search_images"]),
            toolbox={"active": ["search_images"]},
            usage={"input_tokens": 420, "output_tokens": 12},
            title="The hero image",
        )

    async with SqliteStore(file) as store, store.open("tuesday") as session:  # another day, another process
        assert [message["role"] for message in session.history] == ["user", "assistant"]
        assert session.memory.discovered == ("search_images",)
        assert session.usage["input_tokens"] == 420


with TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder) / "sessions.db"))
