"""An agent in workflows of DBOS on SQLite, killed in the middle of its last tool and then started again.

    python -m tests.support.durable_program FOLDER (crash | recover)

`FOLDER/log.txt` has a line for each request to the model and each call of a tool that really happened.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import AbstractToolset, DynamicToolset

from toolcrib import Catalog, CribToolset

FOLDER, CRASHES = Path(sys.argv[1]), sys.argv[2] == "crash"
WAYS = ("steps", "dynamic", "plain")
SCRIPT = [
    ("tool_search", {"query": "water a plant"}),
    ("water_plant", {"name": "fern"}),
    ("tool_search", {"query": "sell a plant"}),
    ("sell_plant", {"name": "fern"}),
    "Done.",
]
APPROVED = [("compost_plant", {"name": "fern"}), "It is gone."]
ready: set[str] = set()  # the workflows that are where the crash should meet them


def log(way: str, text: str) -> None:
    with (FOLDER / "log.txt").open("a", encoding="utf-8") as file:
        file.write(f"{way}: {text}\n")


def crash_when_all_are_here(way: str) -> None:
    ready.add(way)
    if CRASHES and ready == {*WAYS, "approval"}:
        os._exit(3)  # nothing is closed, nothing is said


def model_of(way: str, script: list[Any]) -> FunctionModel:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        place = sum(isinstance(one, ModelResponse) for one in messages)
        log(way, f"model {place} {','.join(tool.name for tool in info.function_tools)}")
        said = script[place]
        part = TextPart(said) if isinstance(said, str) else ToolCallPart(*said, tool_call_id=f"call-{place}")
        return ModelResponse(parts=[part])

    return FunctionModel(answer, model_name="scripted")


def agent_of(way: str, script: list[Any], **options: Any) -> Agent[None, Any]:
    catalog = Catalog()

    async def water_plant(name: str) -> str:
        """Water a plant."""
        log(way, f"water {name}")
        return f"{name} is wet"

    async def sell_plant(name: str) -> str:
        """Sell a plant."""
        log(way, f"sell {name}")
        crash_when_all_are_here(way)
        if CRASHES:
            await asyncio.Event().wait()
        return f"{name} is sold"

    async def compost_plant(name: str) -> str:
        """Throw a plant on the compost."""
        log(way, f"compost {name}")
        return f"{name} is gone"

    if way == "approval":
        catalog.tool(risk="destructive")(compost_plant)
    else:
        for function in (water_plant, sell_plant):
            catalog.tool(DBOS.step(name=f"{way}_{function.__name__}")(function) if way == "steps" else function)
    crib = CribToolset[None](catalog)
    toolset: AbstractToolset[None] = DynamicToolset(lambda ctx: crib, id="crib") if way == "dynamic" else crib
    durable: Any = DBOSDurability()
    return Agent(model_of(way, script), name=f"gardener_{way}", toolsets=[toolset], capabilities=[durable], **options)


def workflow_of(way: str) -> Callable[[str], Any]:
    agent = agent_of(way, SCRIPT)

    @DBOS.workflow(name=way)
    async def work(question: str) -> str:
        return (await agent.run(question)).output

    return work


def approval_workflow() -> Callable[[str], Any]:
    agent = agent_of("approval", APPROVED, output_type=[str, DeferredToolRequests])

    @DBOS.workflow(name="approval")
    async def work(question: str) -> str:
        asked = await agent.run(question)
        assert isinstance(asked.output, DeferredToolRequests)
        crash_when_all_are_here("approval")
        agreed = await DBOS.recv_async("answer", timeout_seconds=600)
        answers = asked.output.build_results(approve_all=bool(agreed))
        return (await agent.run(message_history=asked.all_messages(), deferred_tool_results=answers)).output

    return work


async def main() -> None:
    place = f"sqlite:///{FOLDER / 'dbos.sqlite'}"
    DBOS(config={"name": "garden", "system_database_url": place, "log_level": "CRITICAL"})
    workflows = {way: workflow_of(way) for way in WAYS} | {"approval": approval_workflow()}
    DBOS.launch()
    if CRASHES:
        for way, work in workflows.items():
            with SetWorkflowID(way):
                await DBOS.start_workflow_async(work, "Water the fern, then sell it")
        await asyncio.Event().wait()
    await DBOS.send_async("approval", True, "answer")
    for way in workflows:
        handle: Any = await DBOS.retrieve_workflow_async(way)
        print(way, await handle.get_result())  # noqa: T201 - the test reads it
    DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main())
