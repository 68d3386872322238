"""A Pydantic AI agent that knows nothing of us uses the gateway as it would use any MCP server."""

import asyncio
import json

import pytest
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.support.gateway import SOON, TOKEN, entry, made_gateway, serving

pytestmark = pytest.mark.process


@pytest.mark.anyio
async def test_an_agent_searches_and_calls() -> None:
    seen: list[list[str]] = []

    def think(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append([tool.name for tool in info.function_tools])
        said = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        if not said:
            return ModelResponse(parts=[ToolCallPart("search_tools", {"query": "say the text again"})])
        if len(said) == 1:
            assert "s__echo" in str(said[0])
            return ModelResponse(parts=[ToolCallPart("call_tool", {"name": "s__echo", "arguments": {"text": "hi"}})])
        return ModelResponse(parts=[TextPart(json.dumps(said[1]))])

    with serving(made_gateway({"s": entry()})) as url:
        server = MCPToolset(url, headers={"Authorization": f"Bearer {TOKEN}"})
        async with asyncio.timeout(SOON):
            result = await Agent(FunctionModel(think), toolsets=[server]).run("say hi")
    assert result.output == '"hi"'
    assert seen == [["search_tools", "get_tool", "call_tool"]] * 3
