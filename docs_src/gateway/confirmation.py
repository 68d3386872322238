import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import mcp
from mcp.client import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from toolcrib import Catalog
from toolcrib.catalog import Quarantine
from toolcrib.gateway import Gateway, WaitingCalls
from toolcrib.sources import McpSource, SourceGroup, read_mcp_servers

DELETE = {"name": "clock__delete_alarm", "arguments": {"name": "morning"}}


def text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


def made(**options: Any) -> Gateway:
    quarantine = Quarantine(Catalog())
    servers = read_mcp_servers(["servers.json"], environment={"PYTHON": sys.executable})
    return Gateway(SourceGroup(McpSource(server, quarantine) for server in servers), quarantine, **options)


async def user(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    assert params.message.startswith("Allow clock__delete_alarm to run with these arguments?")
    return ElicitResult(action="accept", content={"confirm": True})


async def main(folder: Path) -> None:
    async with mcp.Client(made().server, elicitation_callback=user) as client:  # it can ask its user
        assert text(await client.call_tool("call_tool", DELETE)) == "morning is gone."

    waiting = WaitingCalls(folder / "confirmations.db")
    async with mcp.Client(made(waiting_calls=waiting).server) as client:  # it cannot: the call waits for a terminal
        refused = await client.call_tool("call_tool", DELETE)
        assert refused.is_error
        assert "toolcrib gateway confirm" in text(refused)

        (call,) = waiting.waiting()  # what `toolcrib gateway confirm` does, once its user has typed the code
        assert waiting.answer(call.code, agreed=True)
        assert text(await client.call_tool("call_tool", DELETE)) == "morning is gone."
        assert (await client.call_tool("call_tool", DELETE)).is_error  # once


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(Path(place)))
