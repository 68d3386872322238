"""An MCP server of the newer protocol that asks back: it answers a call with a question until a reply comes with it."""

import asyncio
from typing import Any

import mcp_types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

FORM = {"type": "object", "properties": {"size": {"type": "string"}}, "required": ["size"]}
ASK = mcp_types.ElicitRequest(params=mcp_types.ElicitRequestFormParams(message="Which size?", requested_schema=FORM))
SAMPLE = mcp_types.CreateMessageRequest(
    params=mcp_types.CreateMessageRequestParams(
        messages=[
            mcp_types.SamplingMessage(role="user", content=mcp_types.TextContent(type="text", text="Which size?"))
        ],
        max_tokens=10,
    )
)
QUESTIONS: dict[str, dict[str, mcp_types.InputRequest]] = {
    "ask": {"one": ASK},
    "ask_twice": {"one": ASK, "two": ASK},
    "sample": {"one": SAMPLE},
    "delete_after_asking": {"one": ASK},
}


async def list_tools(ctx: Any, params: Any) -> mcp_types.ListToolsResult:
    return mcp_types.ListToolsResult(
        tools=[mcp_types.Tool(name=name, input_schema={"type": "object"}) for name in QUESTIONS]
    )


async def call_tool(
    ctx: Any, params: mcp_types.CallToolRequestParams
) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
    if params.input_responses is None:
        return mcp_types.InputRequiredResult(input_requests=QUESTIONS[params.name], request_state="mine")
    said = [reply.model_dump_json(exclude_none=True) for _, reply in sorted(params.input_responses.items())]
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=f"{params.request_state} {said}")])


async def main() -> None:
    server: Server[Any] = Server("asking", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
