import asyncio

from toolcrib import Catalog
from toolcrib.sources import McpSource, read_mcp_server

catalog = Catalog()


async def main() -> None:
    source = McpSource(read_mcp_server("notes", {"command": "no-such-program"}), catalog)
    source.preload([{"name": "add_note", "inputSchema": {"type": "object"}}])  # from the last time, say
    result = await catalog.get("notes__add_note").call({})
    assert result.failed
    assert result.text == "notes cannot be started: there is no program 'no-such-program'. Install it."
    assert (source.state, source.problem) == (
        "not reachable",
        "notes cannot be started: there is no program 'no-such-program'.",
    )
    await source.stop()


asyncio.run(main())
