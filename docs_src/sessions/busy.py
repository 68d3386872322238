import asyncio
from contextlib import suppress

from toolcrib.errors import SessionBusyError, SessionLostError
from toolcrib.stores import SqliteStore


async def main() -> None:
    async with SqliteStore(None) as store:  # without a file: for tests, and for what need not be kept
        async with store.open("tuesday") as session:
            with suppress(SessionBusyError):  # The session 'tuesday' is busy: process 4711 on desk has it open.
                async with store.open("tuesday"):  # or `wait_seconds=10`
                    raise AssertionError("two at once")
        with suppress(SessionLostError):  # ... is no longer open here; nothing was written.
            await session.append(["too late"])
        assert (await store.read("tuesday")).history == ()


asyncio.run(main())
