import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from toolcrib import Catalog
from toolcrib.sources import agent_tool

writer = Agent(TestModel(custom_output_text="Roses are red."), name="writer")
catalog = Catalog([agent_tool(writer, description="Write poems and letters.", phrases=["write a poem"])])


async def main() -> None:
    result = await catalog.get("writer").call({"request": "a poem for my aunt"})
    assert result.text == "Roses are red."


asyncio.run(main())
