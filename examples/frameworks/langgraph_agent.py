"""Toolcrib in a LangGraph graph: one node asks the model, one calls what it named; the toolbox is part of the state.

So a checkpointer keeps the tools that were found, as it keeps the messages.

OPENAI_API_KEY=... python examples/frameworks/langgraph_agent.py "Give the fern some water"
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# LangGraph has no whole types.

import asyncio
import sys
from typing import Any, cast

from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, MessagesState, StateGraph
from plants import ask, catalog

from toolcrib import Toolbox, search_surface
from toolcrib.discovery import protocols_block

STEPS = 15
MODEL = "openai:gpt-5.4-mini"


class State(MessagesState):
    """The conversation, and its toolbox as JSON."""

    toolbox: dict[str, Any]


def toolbox_of(state: State) -> Toolbox:
    return Toolbox.restore(state["toolbox"], catalog, surface=search_surface)


async def think(state: State) -> dict[str, Any]:
    toolbox = toolbox_of(state)
    prompt = f"Answer directly if you can; else look for tools.\n{protocols_block(toolbox.visible())}"
    model = init_chat_model(MODEL).bind_tools(toolbox.openai_tools())
    return {"messages": [await model.ainvoke([("system", prompt), *state["messages"]])]}


async def act(state: State) -> dict[str, Any]:
    toolbox = toolbox_of(state)
    calls = cast("AIMessage", state["messages"][-1]).tool_calls
    results = [await toolbox.handle(call, confirm=ask) for call in calls]
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
