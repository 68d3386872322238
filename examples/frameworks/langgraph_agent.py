"""Toolcrib in a LangGraph graph: one node asks the model, one calls what it named; the toolbox is part of the state.

So a checkpointer keeps the tools that were found, as it keeps the messages. The model is asked by the package `openai`;
`bind_tools` of a LangChain chat model takes the same list: `model.bind_tools(chat_tools(visible))`.

OPENAI_API_KEY=... python examples/frameworks/langgraph_agent.py "Give the fern some water"
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# LangGraph has no whole types.

import asyncio
import sys
from typing import Any, cast

from langchain_core.messages import AIMessage, ToolMessage, convert_to_messages, convert_to_openai_messages
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, MessagesState, StateGraph
from openai import AsyncOpenAI
from plants import call, catalog

from toolcrib import Toolbox, search_surface
from toolcrib.discovery import chat_tools, protocols_block

STEPS = 15
MODEL = "gpt-5.4-mini"


class State(MessagesState):
    """The conversation, and its toolbox as JSON."""

    toolbox: dict[str, Any]


def toolbox_of(state: State) -> Toolbox:
    return Toolbox.restore(state["toolbox"], catalog, surface=search_surface)


async def think(state: State) -> dict[str, Any]:
    visible = toolbox_of(state).visible()  # `tool_search`, and what it found so far
    prompt = f"Answer directly if you can; else look for tools.\n{protocols_block(visible)}"
    messages = cast("list[Any]", convert_to_openai_messages(state["messages"]))
    async with AsyncOpenAI() as client:
        reply = await client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "system", "content": prompt}, *messages],
            tools=chat_tools(visible),  # pyright: ignore[reportArgumentType]  # plain JSON
        )
    return {"messages": convert_to_messages([reply.choices[0].message.to_dict()])}


async def act(state: State) -> dict[str, Any]:
    toolbox = toolbox_of(state)
    results: list[ToolMessage] = []
    for asked in cast("AIMessage", state["messages"][-1]).tool_calls:
        result = await call(toolbox, asked["name"], asked["args"])
        status = "error" if result.failed else "success"
        results.append(ToolMessage(result.text, tool_call_id=asked["id"] or "", status=status))
    return {"messages": results, "toolbox": toolbox.snapshot()}


def next_node(state: State) -> str:
    return "act" if cast("AIMessage", state["messages"][-1]).tool_calls else "__end__"


def graph() -> StateGraph[State]:
    made = StateGraph(State)
    made.add_node("think", think)
    made.add_node("act", act)
    made.add_edge(START, "think")
    made.add_conditional_edges("think", next_node, ["act", "__end__"])
    made.add_edge("act", "think")
    return made


async def answer(question: str) -> str:
    begun = {"messages": [("user", question)], "toolbox": Toolbox(catalog).snapshot()}
    try:
        ended = await graph().compile().ainvoke(cast("State", begun), {"recursion_limit": 2 * STEPS})
    except GraphRecursionError:
        return f"No answer after {STEPS} steps."
    return ended["messages"][-1].text


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
