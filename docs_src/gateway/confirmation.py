import asyncio
import sys

import mcp
from mcp.client import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from toolcrib import Catalog
from toolcrib.catalog import Quarantine
from toolcrib.gateway import Gateway
from toolcrib.sources import McpSource, SourceGroup, read_mcp_servers

DELETE = {"name": "clock__delete_alarm", "arguments": {"name": "morning"}}


def text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def made() -> Gateway:
    quarantine = Quarantine(Catalog())
    servers = read_mcp_servers(["servers.json"], environment={"PYTHON": sys.executable})
    return Gateway(SourceGroup(McpSource(server, quarantine) for server in servers), quarantine)


async def user(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    assert params.message.startswith("Allow clock__delete_alarm to run with these arguments?")
    return ElicitResult(action="accept", content={"confirm": True})


async def main() -> None:
    async with mcp.Client(made().server, elicitation_callback=user) as client:  # it can ask its user
        assert text(await client.call_tool("call_tool", DELETE)) == "morning is gone."

    async with mcp.Client(made().server) as client:  # it cannot: the call has to come again, with a code
        first = text(await client.call_tool("call_tool", DELETE))
        assert first.startswith("requires_confirmation: clock__delete_alarm was not called.")
        code = first.split('"confirmed": "')[1].split('"')[0]
        second = await client.call_tool("call_tool", {**DELETE, "confirmed": code})
        assert text(second) == "morning is gone."


asyncio.run(main())
