import asyncio
from datetime import timedelta

from toolcrib.stores import Confirmation, Refusal, SqliteStore


async def main() -> None:
    async with SqliteStore(None) as store, store.open("tuesday") as session:
        asked = await session.add_confirmation(
            "delete_page", {"slug": "home"}, digest="9c1e", expires_in=timedelta(minutes=10)
        )
        assert session.confirmations == (asked,)

        assert await session.take_confirmation(asked.id, digest="other arguments") is Refusal.CHANGED
        assert isinstance(await session.take_confirmation(asked.id, digest="9c1e"), Confirmation)
        assert await session.take_confirmation(asked.id, digest="9c1e") is Refusal.USED


asyncio.run(main())
