import asyncio

from toolcrib import Catalog, ToolIndex

catalog = Catalog()


@catalog.tool(phrases=["write to someone"])
def send_mail(to: str, body: str) -> str:
    """Send an e-mail."""
    return "sent"


async def main() -> None:
    index = ToolIndex(catalog)
    found = await index.search_async("send an e-mail to Ada")
    assert found.names == ("send_mail",)


asyncio.run(main())
