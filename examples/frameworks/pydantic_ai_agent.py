"""Toolcrib in anyone's Pydantic AI agent: three lines.

OPENAI_API_KEY=... python examples/frameworks/pydantic_ai_agent.py "Give the fern some water"
"""

import asyncio
import sys

from plants import catalog
from pydantic_ai import Agent

from toolcrib import CribToolset


async def answer(question: str, model: str = "openai:gpt-5.4-mini") -> str:
    async with Agent(model, toolsets=[CribToolset(catalog)]) as agent:
        return (await agent.run(question)).output


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
