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


if __name__ == "__main__":
    server.run()
