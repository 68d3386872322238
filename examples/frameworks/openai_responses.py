"""A plain loop with the package `openai`, Responses: our search behind the API's own `tool_search`.

What a search finds is appended to the conversation, so the start of every request stays the same and its cache holds.

OPENAI_API_KEY=... python examples/frameworks/openai_responses.py "Give the fern some water"
"""

# pyright: reportArgumentType=false
# The definitions and items are plain JSON.

import asyncio
import sys
from typing import Any

from openai import AsyncOpenAI
from plants import ask, catalog

from toolcrib import Toolbox, search_surface
from toolcrib.discovery import protocol_delta, protocol_notes

STEPS = 15


async def answer(question: str, model: str = "gpt-5.4") -> str:
    toolbox = Toolbox(catalog, surface=search_surface)
    items: list[Any] = [{"role": "user", "content": question}]
    async with AsyncOpenAI() as client:
        for _ in range(STEPS):
            reply = await client.responses.create(
                model=model,
                instructions="Answer directly if you can; else look for tools.",
                input=items,
                tools=toolbox.responses_tools(native=True),
                store=False,
            )
            items += [item.to_dict() for item in reply.output]
            calls = [item for item in reply.output if item.type in ("function_call", "tool_search_call")]
            if not calls:
                return reply.output_text
            known = protocol_notes(toolbox.visible())
            items += [await toolbox.handle(call, confirm=ask) for call in calls]
            if news := protocol_delta(known, protocol_notes(toolbox.visible())):
                items.append({"role": "developer", "content": news})
    return f"No answer after {STEPS} steps."


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
