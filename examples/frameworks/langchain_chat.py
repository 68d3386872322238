"""A plain loop with a chat model of LangChain: any that has `bind_tools`.

OPENAI_API_KEY=... python examples/frameworks/langchain_chat.py "Give the fern some water"
"""

import asyncio
import sys
from typing import Any

from langchain.chat_models import init_chat_model
from plants import ask, catalog

from toolcrib import Toolbox, search_surface
from toolcrib.discovery import protocols_block

STEPS = 15


async def answer(question: str, model: str = "openai:gpt-5.4-mini") -> str:
    toolbox = Toolbox(catalog, surface=search_surface)
    chat = init_chat_model(model)
    messages: list[Any] = [{"role": "user", "content": question}]
    for _ in range(STEPS):
        prompt = f"Answer directly if you can; else look for tools.\n{protocols_block(toolbox.visible())}"
        reply = await chat.bind_tools(toolbox.openai_tools()).ainvoke([("system", prompt), *messages])
        messages.append(reply)
        if not reply.tool_calls:
            return reply.text
        messages += [await toolbox.handle(call, confirm=ask) for call in reply.tool_calls]
    return f"No answer after {STEPS} steps."


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
