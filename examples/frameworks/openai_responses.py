"""A plain loop with the package `openai`, Responses: our search behind the API's own `tool_search`.

What a search finds is appended to the conversation, so the start of every request stays the same and its cache holds.

OPENAI_API_KEY=... python examples/frameworks/openai_responses.py "Give the fern some water"
"""

import asyncio
import sys
from typing import Any

from openai import AsyncOpenAI
from plants import call, catalog

from toolcrib import Toolbox, search_surface
from toolcrib.discovery import Discovered, protocol_delta, protocol_notes, responses_search_output, responses_tools

STEPS = 15


async def answer(question: str, model: str = "gpt-5.4") -> str:
    toolbox = Toolbox(catalog, surface=search_surface)
    [search] = toolbox.surface
    items: list[Any] = [{"role": "user", "content": question}]
    async with AsyncOpenAI() as client:
        for _ in range(STEPS):
            reply = await client.responses.create(
                model=model,
                instructions="Answer directly if you can; else look for tools.",
                input=items,
                tools=responses_tools(search),  # pyright: ignore[reportArgumentType]  # plain JSON
                store=False,
            )
            items += [item.to_dict() for item in reply.output]
            known, results = protocol_notes(toolbox.visible()), list[Any]()
            for item in reply.output:
                if item.type == "tool_search_call":
                    found = (await toolbox.call(search.name, item.arguments)).value
                    names = found.tools if isinstance(found, Discovered) else ()
                    results.append(responses_search_output(item.call_id or "", map(catalog.get, names)))
                elif item.type == "function_call":
                    result = await call(toolbox, item.name, item.arguments)
                    results.append({"type": "function_call_output", "call_id": item.call_id, "output": result.text})
            if not results:
                return reply.output_text
            items += results
            if news := protocol_delta(known, protocol_notes(toolbox.visible())):
                items.append({"role": "developer", "content": news})
    return f"No answer after {STEPS} steps."


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
