"""An agent of the OpenAI Agents SDK: its tools are what the toolbox shows at each step.

OPENAI_API_KEY=... python examples/frameworks/openai_agents.py "Give the fern some water"
"""

import asyncio
import sys
from typing import Any

from agents import Agent, FunctionTool, MaxTurnsExceeded, RunConfig, RunContextWrapper, Runner, Tool
from agents.tool_context import ToolContext
from plants import ask, catalog

from toolcrib import Toolbox, search_surface
from toolcrib.discovery import protocols_block

STEPS = 15
CONFIG = RunConfig(tool_not_found_behavior="return_error_to_model")  # a wrong name does not end the run


class CribAgent(Agent[Toolbox]):
    """An agent whose runs have a toolbox as their context."""

    async def get_all_tools(self, run_context: RunContextWrapper[Toolbox]) -> list[Tool]:
        shown = run_context.context.responses_tools()  # `tool_search`, and what it found so far
        return [*await super().get_all_tools(run_context), *map(function_tool, shown)]


def function_tool(entry: dict[str, Any]) -> Tool:
    kept = {"name": entry["name"], "description": entry["description"], "params_json_schema": entry["parameters"]}
    return FunctionTool(**kept, on_invoke_tool=invoke, strict_json_schema=False)


async def invoke(ctx: ToolContext[Toolbox], arguments: str) -> str:
    call = {"type": "function_call", "call_id": ctx.tool_call_id, "name": ctx.tool_name, "arguments": arguments}
    return (await ctx.context.handle(call, confirm=ask))["output"]


def instructions(ctx: RunContextWrapper[Toolbox], agent: Agent[Toolbox]) -> str:
    return f"Answer directly if you can; else look for tools.\n{protocols_block(ctx.context.visible())}"


async def answer(question: str, model: str = "gpt-5.4") -> str:
    toolbox = Toolbox(catalog, surface=search_surface)
    agent = CribAgent(name="gardener", model=model, instructions=instructions)
    try:
        return (await Runner.run(agent, question, context=toolbox, max_turns=STEPS, run_config=CONFIG)).final_output
    except MaxTurnsExceeded:
        return f"No answer after {STEPS} steps."


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
