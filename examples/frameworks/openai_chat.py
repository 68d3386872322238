"""A plain loop with the package `openai`, Chat Completions: for every OpenAI-compatible provider.

OPENAI_API_KEY=... python examples/frameworks/openai_chat.py "Give the fern some water"
"""

# pyright: reportArgumentType=false
# The definitions and messages are plain JSON.

import asyncio
import sys
from typing import Any

from openai import AsyncOpenAI
from plants import ask, catalog

from toolcrib import Toolbox, search_surface
from toolcrib.discovery import protocols_block

STEPS = 15


async def answer(question: str, model: str = "gpt-5.4-mini") -> str:
    toolbox = Toolbox(catalog, surface=search_surface)
    messages: list[Any] = [{"role": "user", "content": question}]
    async with AsyncOpenAI() as client:
        for _ in range(STEPS):
            prompt = f"Answer directly if you can; else look for tools.\n{protocols_block(toolbox.visible())}"
            reply = await client.chat.completions.create(
                model=model,
                messages=[{"role": "system", "content": prompt}, *messages],
                tools=toolbox.openai_tools(),  # `tool_search`, and what it found so far
            )
            said = reply.choices[0].message
            messages.append(said.to_dict())
            if not said.tool_calls:
                return said.content or ""
            messages += [await toolbox.handle(call, confirm=ask) for call in said.tool_calls]
    return f"No answer after {STEPS} steps."


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
