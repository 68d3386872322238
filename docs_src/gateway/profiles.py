import asyncio
import sys
from pathlib import Path

import mcp

from toolcrib import Catalog
from toolcrib.catalog import Quarantine
from toolcrib.gateway import Gateway, read_setup
from toolcrib.sources import McpSource, SourceGroup, read_mcp_servers


async def main() -> None:
    quarantine = Quarantine(Catalog())
    servers = read_mcp_servers(["servers.json"], environment={"PYTHON": sys.executable})
    sources = SourceGroup(McpSource(server, quarantine) for server in servers)
    gateway = Gateway(sources, quarantine, profiles=read_setup(Path("setup.yaml")).profiles, profile="design")

    async with mcp.Client(gateway.server) as client:
        await sources.wait_until_settled()
        assert "browse_category" in [tool.name for tool in (await client.list_tools()).tools]
        assert (await client.call_tool("get_tool", {"name": "clock__delete_alarm"})).is_error
        assert not (await client.call_tool("get_tool", {"name": "clock__what_time"})).is_error


asyncio.run(main())
