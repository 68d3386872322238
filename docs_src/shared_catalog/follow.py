from register import catalog as local

from toolcrib import Catalog, ToolIndex
from toolcrib.postgres import CatalogRunner, PostgresDatabase, SharedCatalog, SharedSource


async def main(url: str) -> None:
    catalog = Catalog()  # this replica's own copy
    index = ToolIndex(catalog)
    async with PostgresDatabase(url) as database:
        shared = SharedCatalog(database)
        runners = {"python": CatalogRunner(local)}  # who has the code, by source
        async with SharedSource(shared, catalog, runners=runners) as source:
            assert index.search("write to a colleague").names == ("send_mail",)
            called = await catalog.get("send_mail").call({"to": "ann@example.com", "text": "Hello"})
            assert called.text == "Sent to ann@example.com."

            elsewhere = local.get("send_mail").with_metadata(name="get_weather", description="Tell the weather.")
            change = await shared.register("mcp:weather", [elsewhere])
            await source.reached(change.revision)  # without waiting: within a second
            assert index.search("weather").names == ("get_weather",)
            called = await catalog.get("get_weather").call({})
            assert called.text == "get_weather cannot be called here: this server has no access to mcp:weather."
