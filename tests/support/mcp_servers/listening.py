"""A server of the MCP SDK in the newer protocol: it tells of its changes only to clients that listen."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("telling")


@server.tool()
async def grow(ctx: Context) -> str:
    """Have one more tool."""
    server.add_tool(lambda: "new", name="grown", description="A new tool.")
    await ctx.notify_tools_changed()
    return "grown"


@server.resource("docs://board")
def board() -> str:
    """What is on the board."""
    return "empty"


@server.tool()
async def wipe(ctx: Context) -> str:
    """Wipe the board."""
    await ctx.notify_resource_updated("docs://board")
    return "wiped"


if __name__ == "__main__":
    server.run()
