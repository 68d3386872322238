"""What Pydantic AI says of toolsets, held against ours: alone, and inside each of its wrappers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, FunctionToolset, WrapperToolset

from tests.support.agent import Shop, scripted
from toolcrib.agent.toolset import CribToolset


def keep_all(ctx: RunContext[Any], definition: ToolDefinition) -> bool:
    return True


async def shout(ctx: RunContext[Any], definitions: list[ToolDefinition]) -> list[ToolDefinition]:
    return [replace(one, description=(one.description or "").upper()) for one in definitions]


def never(ctx: RunContext[Any], definition: ToolDefinition, arguments: dict[str, Any]) -> bool:
    return False


Wrap = Callable[[AbstractToolset[Any]], AbstractToolset[Any]]
WRAPPERS: dict[str, tuple[Wrap, str]] = {
    "alone": (lambda inner: inner, ""),
    "wrapper": (WrapperToolset, ""),
    "combined": (lambda inner: CombinedToolset([inner, FunctionToolset()]), ""),
    "filtered": (lambda inner: inner.filtered(keep_all), ""),
    "prepared": (lambda inner: inner.prepared(shout), ""),
    "prefixed": (lambda inner: inner.prefixed("crib"), "crib_"),
    "metadata": (lambda inner: inner.with_metadata(team="web"), ""),
    "return schemas": (lambda inner: inner.include_return_schemas(), ""),
    "approval": (lambda inner: inner.approval_required(never), ""),
}
every_wrapper = pytest.mark.parametrize(("wrap", "prefix"), WRAPPERS.values(), ids=WRAPPERS)


@every_wrapper
async def test_a_tool_is_listed_once_found_and_called(wrap: Wrap, prefix: str) -> None:
    shop = Shop()
    script, model = scripted(
        [(f"{prefix}tool_search", {"query": "rename a page"})],
        [(f"{prefix}rename_page", {"slug": "home", "title": "Start"})],
        "Done.",
    )
    agent = Agent(model, toolsets=[wrap(CribToolset(shop.catalog))])
    assert (await agent.run("Rename home")).output == "Done."
    assert script.tools[0] == [f"{prefix}tool_search"]
    assert f"{prefix}rename_page" in script.tools[1]
    assert shop.renamed == [("home", "Start")]


@every_wrapper
async def test_protocols_stand_in_the_instructions(wrap: Wrap, prefix: str) -> None:
    script, model = scripted("Hello.")
    await Agent(model, toolsets=[wrap(CribToolset(Shop().catalog, pinned=["search_images"]))]).run("Hello")
    assert "Use the id of an image with set_hero_image." in script.instructions[0]


@every_wrapper
async def test_a_failure_is_a_failed_result(wrap: Wrap, prefix: str) -> None:
    _, model = scripted([(f"{prefix}broken_report", {"name": "May"})], "It is broken.")
    agent = Agent(model, toolsets=[wrap(CribToolset(Shop().catalog, pinned=["broken_report"]))])
    done = await agent.run("Report")
    assert [
        part.outcome for message in done.all_messages() for part in message.parts if part.part_kind == "tool-return"
    ] == ["failed"]


@every_wrapper
async def test_streaming_runs_the_same_way(wrap: Wrap, prefix: str) -> None:
    shop = Shop()
    _, model = scripted([(f"{prefix}rename_page", {"slug": "home", "title": "Start"})], "Done.")
    agent = Agent(model, toolsets=[wrap(CribToolset(shop.catalog, pinned=["rename_page"]))])
    async with agent.run_stream("Rename home") as stream:
        assert await stream.get_output() == "Done."
    assert shop.renamed == [("home", "Start")]


async def test_an_id_names_the_toolset_and_two_need_two_ids() -> None:
    assert CribToolset(Shop().catalog).id == "toolcrib"
    assert CribToolset(Shop().catalog, id="shop").id == "shop"


async def test_entering_and_leaving_changes_nothing() -> None:
    _, model = scripted("One.", "Two.")
    agent = Agent(model, toolsets=[CribToolset(Shop().catalog)])
    async with agent:
        assert (await agent.run("Hi")).output == "One."
    assert (await agent.run("Hi")).output == "Two."
