"""A gateway in a test: its upstreams, and clients of both protocols over every transport."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp_types import CallToolResult, TextContent

from tests.support import PATIENCE
from tests.support.mcp_servers import SCRIPTED
from toolcrib.catalog.approvals import Lock, Quarantine
from toolcrib.catalog.catalog import Catalog
from toolcrib.gateway.http import PATH, http_server
from toolcrib.gateway.limits import GatewayLimits
from toolcrib.gateway.oauth import OAuthSpec
from toolcrib.gateway.server import Gateway
from toolcrib.policy.policy import Policy, Rule
from toolcrib.serving import Options, address, bind_socket
from toolcrib.sources.mcp.config import McpLimits, read_mcp_server
from toolcrib.sources.mcp.source import McpSource
from toolcrib.sources.source import SourceGroup

TOKEN = "a-token-for-tests"
SOON = PATIENCE
PATIENT = McpLimits(connect_seconds=SOON, list_seconds=SOON, call_seconds=SOON)
ERAS = ("legacy", "auto")
START = "import sys; from toolcrib.cli.main import main; sys.exit(main())"


def entry(**told: Any) -> dict[str, Any]:
    """A server that does as it is told, as a configuration names it."""
    return {"command": sys.executable, "args": ["-S", SCRIPTED, json.dumps(told)]}


def write_config(folder: Path, **servers: dict[str, Any]) -> Path:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def made_gateway(
    servers: dict[str, dict[str, Any]],
    *,
    lock: Path | None = None,
    server_limits: McpLimits | None = None,
    special: dict[str, McpLimits] | None = None,
    **options: Any,
) -> Gateway:
    """A gateway in this process; `special` has limits for some of its servers, the others are patient.

    Unless a policy is given, only what destroys asks: these tests are about other things.
    """
    limits = server_limits or PATIENT
    options.setdefault("policy", Policy(rules=(Rule("allow", risk="moderate"),)))
    options.setdefault("limits", GatewayLimits(startup_wait_seconds=SOON))
    quarantine = Quarantine(Catalog())
    group = SourceGroup(
        McpSource(read_mcp_server(name, one), quarantine, limits=(special or {}).get(name, limits))
        for name, one in servers.items()
    )
    if lock is not None:
        quarantine.lock = Lock.open(lock, [source.name for source in group.sources])
    return Gateway(group, quarantine, **options)


def in_memory(gateway: Gateway, mode: str = "auto", **options: Any) -> mcp.Client:
    return mcp.Client(gateway.server, mode=mode, **options)


def over_stdio(*arguments: str, mode: str = "auto", **options: Any) -> Client[Any]:
    """A client whose gateway is a program of its own."""
    transport = StdioTransport(
        sys.executable, ["-c", START, "gateway", *arguments], env=dict(os.environ), keep_alive=False
    )
    return Client(transport, mode=mode, **options)


def over_http(url: str, mode: str = "auto", token: str = TOKEN, **options: Any) -> Client[Any]:
    return Client(StreamableHttpTransport(url, auth=token), mode=mode, **options)


@contextmanager
def serving(gateway: Gateway, oauth: OAuthSpec | None = None, **options: Any) -> Generator[str]:
    """The address of a gateway that listens; it ends with the block."""
    chosen = replace(Options(port=0, tokens={TOKEN: "tester"}, grace_seconds=1), **options)
    taken = bind_socket(chosen)
    server = http_server(gateway, chosen, oauth)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([taken])), daemon=True)
    thread.start()
    try:
        yield address(chosen, taken, PATH)
    finally:
        server.should_exit = True
        thread.join(timeout=SOON)
        taken.close()


def text(result: CallToolResult) -> str:
    """The words of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def call(client: Any, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> CallToolResult:
    """Call an inner tool, by any kind of client."""
    asked = {"name": name, "arguments": arguments or {}, **more}
    if isinstance(client, mcp.Client):
        return await client.call_tool("call_tool", asked)
    return await client.call_tool_mcp("call_tool", asked)
