"""A plain loop with the package `openai`, Chat Completions: for every OpenAI-compatible provider.

OPENAI_API_KEY=... python examples/frameworks/openai_chat.py "Give the fern some water"
"""

import asyncio
import sys
from typing import Any

from openai import AsyncOpenAI
from plants import call, catalog

from toolcrib import Toolbox, search_surface
from toolcrib.discovery import chat_tools, protocols_block

STEPS = 15


async def answer(question: str, model: str = "gpt-5.4-mini") -> str:
    toolbox = Toolbox(catalog, surface=search_surface)
    messages: list[Any] = [{"role": "user", "content": question}]
    async with AsyncOpenAI() as client:
        for _ in range(STEPS):
            visible = toolbox.visible()  # `tool_search`, and what it found so far
            prompt = f"Answer directly if you can; else look for tools.\n{protocols_block(visible)}"
            reply = await client.chat.completions.create(
                model=model,
                messages=[{"role": "system", "content": prompt}, *messages],
                tools=chat_tools(visible),  # pyright: ignore[reportArgumentType]  # plain JSON
            )
            said = reply.choices[0].message
            messages.append(said.to_dict())
            if not said.tool_calls:
                return said.content or ""
            for asked in said.tool_calls:
                if asked.type == "function":
                    result = await call(toolbox, asked.function.name, asked.function.arguments)
                    messages.append({"role": "tool", "tool_call_id": asked.id, "content": result.text})
    return f"No answer after {STEPS} steps."


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
