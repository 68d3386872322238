import asyncio
import tempfile
from typing import Any

from dbos import DBOS
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.toolsets import DynamicToolset

from toolcrib import Catalog, CribToolset
from toolcrib.testing import scripted_model

catalog = Catalog()


@catalog.tool
async def send_mail(text: str) -> str:
    """Send an e-mail."""
    return "It is sent."


model = scripted_model(("tool_search", {"query": "send an e-mail"}), ("send_mail", {"text": "Hello"}), "Done.")
crib: CribToolset[object] = CribToolset(catalog)
durable: Any = DBOSDurability()
agent = Agent(
    model,
    name="clerk",
    toolsets=[DynamicToolset(lambda ctx: crib, id="crib")],  # with an id: each call becomes a step
    capabilities=[durable],
)


@DBOS.workflow()
async def answer(question: str) -> str:
    return (await agent.run(question)).output


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        DBOS(config={"name": "clerk", "system_database_url": f"sqlite:///{folder}/dbos.sqlite"})
        DBOS.launch()
        assert await answer("Write to Ada") == "Done."
        [workflow] = await DBOS.list_workflows_async()
        steps = [step["function_name"] for step in await DBOS.list_workflow_steps_async(workflow.workflow_id)]
        assert steps.count("clerk__dynamic_toolset__crib.call_tool") == 2
        DBOS.destroy()


asyncio.run(main())
