import asyncio
import sys
from functools import partial

from toolcrib import Catalog, Toolbox, ToolIndex, search_surface
from toolcrib.sources import McpSource, SourceGroup, SourceState, read_mcp_servers


async def main() -> None:
    catalog = Catalog()
    servers = read_mcp_servers(["mcp.json"], environment={"PYTHON": sys.executable})
    group = SourceGroup(McpSource(server, catalog) for server in servers)
    async with group:  # all start side by side, and none waits for another
        await group.wait_until_settled()
        assert group.states() == {"mcp:clock": SourceState.READY, "mcp:mail": SourceState.NEEDS_LOGIN}
        assert [tool.name for tool in catalog] == ["clock__what_time", "clock__delete_alarm"]

        surface = partial(search_surface, sources=group.states)  # a search that finds nothing says what is missing
        toolbox = Toolbox(catalog, ToolIndex(catalog), surface=surface)
        result = await toolbox.call("clock__what_time", {})
        assert result.text.endswith("+00:00")
        assert result.value.content[0].text == result.text  # the server's answer, untouched

        asked = await toolbox.call("clock__delete_alarm", {"name": "morning"})
        assert "requires_confirmation" in asked.text  # its name says that it deletes, so the user is asked
    assert len(catalog) == 0  # what a source brought goes with it


asyncio.run(main())
