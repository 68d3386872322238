import asyncio

from office import files, mail, people, sales  # 200 tools: three `FunctionToolset`s and an MCP server
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

from toolcrib import CribToolset
from toolcrib.testing import scripted_model

model = scripted_model(("tool_search", {"query": "write an e-mail"}), ("send_mail", {"text": "Hello"}), "It is sent.")
toolsets = [sales, people, files, MCPToolset(mail, id="mail")]
before = Agent(model, toolsets=toolsets)  # 200 definitions in each request

agent = Agent(model, toolsets=[CribToolset(toolsets)])  # one definition, and those that are found


async def main() -> None:
    async with agent:
        assert (await agent.run("Write to Ada")).output == "It is sent."


asyncio.run(main())
