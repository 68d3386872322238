"""A plain loop with the package `anthropic`: our search answers with Claude's own tool references.

Every tool is declared and most are held back, so the list never changes and the prompt cache holds.

ANTHROPIC_API_KEY=... python examples/frameworks/anthropic_messages.py "Give the fern some water"
"""

import asyncio
import sys
from typing import Any

from anthropic import AsyncAnthropic
from plants import call, catalog

from toolcrib import Toolbox, search_surface
from toolcrib.discovery import Discovered, anthropic_search_result, anthropic_tools, protocol_delta, protocol_notes

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
                tools=anthropic_tools(toolbox.surface, toolbox.tools),  # pyright: ignore[reportArgumentType]  # JSON
            )
            messages.append({"role": "assistant", "content": [block.to_dict() for block in reply.content]})
            known, results = protocol_notes(toolbox.visible()), list[Any]()
            for block in reply.content:
                if block.type == "tool_use":
                    result = await call(toolbox, block.name, block.input)
                    if isinstance(result.value, Discovered):
                        results.append(anthropic_search_result(block.id, result.value.tools, nothing=result.text))
                    else:
                        content = {"content": result.text, "is_error": result.failed}
                        results.append({"type": "tool_result", "tool_use_id": block.id, **content})
            if not results:
                return "".join(block.text for block in reply.content if block.type == "text")
            if news := protocol_delta(known, protocol_notes(toolbox.visible())):
                results.append({"type": "text", "text": news})  # results stand first in their message
            messages.append({"role": "user", "content": results})
    return f"No answer after {STEPS} steps."


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
