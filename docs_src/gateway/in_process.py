import asyncio
import sys
import tempfile
from pathlib import Path

import mcp
from mcp_types import CallToolResult, TextContent

from toolcrib import Catalog
from toolcrib.catalog import Lock, Quarantine
from toolcrib.gateway import Gateway
from toolcrib.policy import read_policy
from toolcrib.sources import McpSource, SourceGroup, read_mcp_servers


def text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


async def main(folder: Path) -> None:
    quarantine = Quarantine(Catalog())
    servers = read_mcp_servers(["servers.json"], environment={"PYTHON": sys.executable})
    sources = SourceGroup(McpSource(server, quarantine) for server in servers)
    quarantine.lock = Lock.open(folder / "tools.lock", [source.name for source in sources.sources])
    gateway = Gateway(sources, quarantine, policy=read_policy(Path("policy.yaml")))

    async with mcp.Client(gateway.server) as client:  # any MCP client, over any transport
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == ["search_tools", "get_tool", "call_tool"]

        await sources.wait_until_settled()  # a search would also wait for them, for some seconds
        found = await client.call_tool("search_tools", {"query": "what time is it?"})
        assert "clock__what_time" in text(found)

        told = await client.call_tool("call_tool", {"name": "clock__what_time", "arguments": {}})
        assert text(told).endswith("+00:00")

        refused = await client.call_tool("call_tool", {"name": "clock__delete_alarm", "arguments": {"name": "x"}})
        assert text(refused).startswith("clock__delete_alarm is not allowed, because alarms are sacred.")


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder)))
