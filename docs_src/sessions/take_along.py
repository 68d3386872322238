import asyncio
import json
from datetime import timedelta

from toolcrib.stores import SqliteStore, from_document, to_document


async def main() -> None:
    async with SqliteStore(None) as here, SqliteStore(None) as there:
        async with here.open("tuesday") as session:
            await session.append(["hello"], events=[{"type": "answered"}])

        text = json.dumps(to_document(await here.read("tuesday")))
        await there.restore(from_document(json.loads(text)))
        assert await there.read("tuesday") == await here.read("tuesday")

        assert [info.id for info in await here.sessions(limit=10)] == ["tuesday"]
        assert await here.purge(older_than=timedelta(days=30)) == 0
        await here.delete("tuesday")


asyncio.run(main())
