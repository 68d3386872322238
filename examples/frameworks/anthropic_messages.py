"""A plain loop with the package `anthropic`: our search answers with Claude's own tool references.

Every tool is declared and most are held back, so the list never changes and the prompt cache holds.

ANTHROPIC_API_KEY=... python examples/frameworks/anthropic_messages.py "Give the fern some water"
"""

# pyright: reportArgumentType=false
# The definitions and blocks are plain JSON.

import asyncio
import sys
from typing import Any

from anthropic import AsyncAnthropic
from plants import ask, catalog

from toolcrib import Toolbox, search_surface
from toolcrib.discovery import protocol_delta, protocol_notes

STEPS = 15


async def answer(question: str, model: str = "claude-sonnet-5-5") -> str:
    toolbox = Toolbox(catalog, surface=search_surface)
    messages: list[Any] = [{"role": "user", "content": question}]
    async with AsyncAnthropic() as client:
        for _ in range(STEPS):
            reply = await client.messages.create(
                model=model,
                max_tokens=4_096,
                system="Answer directly if you can; else look for tools.",
                messages=messages,
                tools=toolbox.anthropic_tools(native=True),
            )
            messages.append({"role": "assistant", "content": [block.to_dict() for block in reply.content]})
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in reply.content if block.type == "text")
            known = protocol_notes(toolbox.visible())
            results: list[Any] = [await toolbox.handle(call, confirm=ask, native=True) for call in calls]
            if news := protocol_delta(known, protocol_notes(toolbox.visible())):
                results.append({"type": "text", "text": news})  # results stand first in their message
            messages.append({"role": "user", "content": results})
    return f"No answer after {STEPS} steps."


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
