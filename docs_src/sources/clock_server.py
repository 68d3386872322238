"""An MCP server with two tools, for the other snippets: `python clock_server.py --serve` speaks MCP over stdio."""

import sys
from datetime import UTC, datetime

from fastmcp import FastMCP

server: FastMCP[None] = FastMCP("clock")


@server.tool(annotations={"readOnlyHint": True})
def what_time() -> str:
    """Tell the time in UTC."""
    return datetime.now(UTC).isoformat()


@server.tool
def delete_alarm(name: str) -> str:
    """Delete an alarm."""
    return f"{name} is gone."


if "--serve" in sys.argv:
    server.run(show_banner=False)
