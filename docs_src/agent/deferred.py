import asyncio

from pydantic_ai import Agent, DeferredToolRequests

from toolcrib import Catalog, CribToolset
from toolcrib.testing import scripted_model

catalog = Catalog()


@catalog.tool(risk="destructive")
def delete_page(slug: str) -> str:
    """Delete a page for good."""
    return f"{slug} is deleted"


async def main() -> None:
    model = scripted_model(("delete_page", {"slug": "old"}), "It is gone.")
    toolset = CribToolset(catalog, pinned=["delete_page"])
    agent = Agent(model, toolsets=[toolset], output_type=[str, DeferredToolRequests])

    paused = await agent.run("Delete the old page")
    assert isinstance(paused.output, DeferredToolRequests)  # the run waits; ask the user

    answers = paused.output.build_results(approve_all=True)
    done = await agent.run(message_history=paused.all_messages(), deferred_tool_results=answers)
    assert done.output == "It is gone."


asyncio.run(main())
