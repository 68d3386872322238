import asyncio
from contextlib import suppress

from toolcrib.errors import UnknownSessionError
from toolcrib.stores import SqliteStore


async def main() -> None:
    async with SqliteStore(None) as store:
        acme, globex = store.for_tenant("acme"), store.for_tenant("globex")
        async with acme.open("tuesday") as session:
            await session.append(["for our eyes only"])
        assert await globex.sessions() == ()
        with suppress(UnknownSessionError):  # as if it were not there: its id is not even hinted at
            await globex.read("tuesday")
            raise AssertionError("it was read")


asyncio.run(main())
