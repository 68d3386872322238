import asyncio
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toolcrib import open_store
from toolcrib.errors import SessionBusyError
from toolcrib.stores import Store


async def listen(replica: Store) -> list[Any]:
    """What is logged elsewhere, as it is logged; it ends when nobody has the session open. None tells of a silence."""
    return [logged.event async for logged in replica.follow("tuesday") if logged is not None]


async def main(place: str) -> None:
    async with open_store(place) as replica, open_store(place) as other:  # in production these are two machines
        async with replica.open("tuesday") as session:
            await session.append([{"role": "user", "text": "find the hero image"}], events=[{"type": "run_started"}])

            with suppress(SessionBusyError):  # one writer at a time, whatever the machine
                async with other.open("tuesday"):  # or `wait_seconds=10`
                    raise AssertionError("two at once")

            listening = asyncio.create_task(listen(other))
            await session.append(events=[{"type": "answered", "text": "Here it is."}])

        assert [event["type"] for event in await listening] == ["run_started", "answered"]
        async with other.open("tuesday") as session:  # the next turn may happen anywhere
            assert len(session.history) == 1


with TemporaryDirectory() as folder:
    asyncio.run(main(os.environ.get("TOOLCRIB_STORE") or str(Path(folder) / "sessions.db")))
