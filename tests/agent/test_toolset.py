"""A toolbox in anyone's Pydantic AI agent."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, RunContext, ToolDenied
from pydantic_ai.messages import InstructionDeltaPart, ModelMessage, ModelRequest, ToolReturnPart

from tests.support.agent import Shop, scripted
from toolcrib.agent.toolset import CribToolset
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.protocols import Guidance
from toolcrib.discovery.surfaces.browse import browse_surface, compact_surface
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy.policy import Policy, Rule
from toolcrib.tools.protocol import Protocol


def returns(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


async def test_three_lines_make_a_toolbox_part_of_any_agent() -> None:
    catalog = Shop().catalog
    script, model = scripted(
        [("tool_search", {"query": "rename a page"})], [("rename_page", {"slug": "home", "title": "Start"})], "Done."
    )
    agent = Agent(model, toolsets=[CribToolset(Toolbox(catalog, surface=search_surface))])
    done = await agent.run("Rename home to Start")
    assert done.output == "Done."
    assert script.tools[0] == ["tool_search"]
    assert "rename_page" in script.tools[1]


async def test_what_was_found_is_visible_in_later_turns() -> None:
    script, model = scripted([("tool_search", {"query": "find an image"})], "Ready.", "Yes.")
    agent = Agent(model, toolsets=[CribToolset(Toolbox(Shop().catalog, surface=search_surface))])
    first = await agent.run("Can you find images?")
    await agent.run("Still?", message_history=first.all_messages())
    assert script.tools[2] == script.tools[1]
    assert "## search_images" in script.instructions[2]


async def test_a_tool_that_a_search_only_named_can_be_called_at_once() -> None:
    shop = Shop()
    script, model = scripted(
        [("tool_search", {"query": "delete a page"})],
        [("rename_page", {"slug": "home", "title": "Start"})],
        "Done.",
    )
    toolbox = Toolbox(shop.catalog, surface=partial(search_surface, budget_tokens=0))
    done = await Agent(model, toolsets=[CribToolset(toolbox)]).run("Rename home")
    assert (done.output, shop.renamed) == ("Done.", [("home", "Start")])
    assert script.tools[1][:2] == ["tool_search", "delete_page"]
    assert script.schemas[1]["rename_page"] == {"type": "object", "properties": {}}, "its name, and nothing else"
    assert set(script.schemas[2]["rename_page"]["properties"]) == {"slug", "title"}, "the call brought its definition"


async def test_a_failed_call_is_told_as_failed_and_never_ends_the_run() -> None:
    _, model = scripted([("broken_report", {"name": "May"})], [("broken_report", {"name": 3})], "It is broken.")
    toolbox = Toolbox(Shop().catalog, pinned=["broken_report"])
    done = await Agent(model, toolsets=[CribToolset(toolbox)]).run("Report")
    assert [part.outcome for part in returns(done.all_messages())] == ["failed", "failed"]


async def test_each_run_can_have_a_toolbox_of_its_own() -> None:
    catalog = Shop().catalog
    toolboxes = {"ann": Toolbox(catalog, surface=search_surface), "bob": Toolbox(catalog, surface=search_surface)}

    def of_user(ctx: RunContext[str]) -> Toolbox:
        return toolboxes[ctx.deps]

    script, model = scripted([("tool_search", {"query": "find an image"})], "Ready.", "Hello.")
    agent = Agent(model, deps_type=str, toolsets=[CribToolset(of_user)])
    await agent.run("Find images", deps="ann")
    await agent.run("Hello", deps="bob")
    assert "search_images" in script.tools[1]
    assert script.tools[2] == ["tool_search"]
    with pytest.raises(AssertionError, match="Each run has a toolbox of its own"):
        _ = CribToolset(of_user).toolbox


async def test_a_tool_that_asks_is_refused_where_nobody_can_answer() -> None:
    shop = Shop()
    script, model = scripted([("delete_page", {"slug": "old"})], "I may not.")
    done = await Agent(model, toolsets=[CribToolset(Toolbox(shop.catalog, pinned=["delete_page"]))]).run("Delete old")
    assert shop.deleted == []
    assert str(returns(done.all_messages())[0].content).startswith("requires_confirmation")
    assert "confirmed" not in script.schemas[0]["delete_page"]["properties"]


@pytest.mark.parametrize(("answer", "deleted"), [(True, ["old"]), (ToolDenied("no"), [])])
async def test_the_user_is_asked_in_the_way_of_pydantic_ai(answer: Any, deleted: list[str]) -> None:
    shop = Shop()
    _, model = scripted([("delete_page", {"slug": "old"})], "Settled.")
    toolset = CribToolset[object](Toolbox(shop.catalog, pinned=["delete_page"]), deferred=True)
    agent = Agent(model, toolsets=[toolset], output_type=[str, DeferredToolRequests])
    paused = await agent.run("Delete old")
    assert isinstance(paused.output, DeferredToolRequests)
    (call,) = paused.output.approvals
    assert paused.output.metadata[call.tool_call_id] == {"tool": "delete_page", "reason": "it is destructive"}
    results = paused.output.build_results(approvals={call.tool_call_id: answer})
    done = await agent.run(message_history=paused.all_messages(), deferred_tool_results=results)
    assert done.output == "Settled."
    assert shop.deleted == deleted


async def test_hidden_tools_are_not_there_and_denied_ones_say_so() -> None:
    policy = Policy(rules=(Rule("hide", name="delete_*"), Rule("deny", name="rename_*", reason="it is Sunday")))
    script, model = scripted("Hello.")
    box = Toolbox(Shop().catalog, pinned=["delete_page", "rename_page", "search_images"], policy=policy)
    await Agent(model, toolsets=[CribToolset(box)]).run("Hi")
    assert script.tools == [["search_images"]]


async def test_compact_mode_lists_every_tool_in_the_prompt() -> None:
    script, model = scripted([("get_tool", {"name": "rename_page"})], "Ready.")
    box = Toolbox(Shop().catalog, surface=compact_surface, mode=Mode.COMPACT)
    await Agent(model, toolsets=[CribToolset(box)]).run("Rename")
    assert "<tools>\nsearch_images: Search images by what they show." in script.instructions[0]
    assert script.tools == [["get_tool"], ["get_tool", "rename_page"]]


async def test_a_tool_called_through_a_surface_is_confirmed_as_itself() -> None:
    shop = Shop()
    _, model = scripted([("execute_tool", {"name": "delete_page", "params": {"slug": "old"}})], "Done.")
    box = Toolbox(shop.catalog, surface=browse_surface)

    async def agreed(pending: Any, confirmed: bool, /) -> Any:
        assert (pending.tool, confirmed) == ("delete_page", False)
        return pending.approve()

    await Agent(model, toolsets=[CribToolset(box, consent=agreed)]).run("Delete old")
    assert shop.deleted == ["old"]


@pytest.mark.parametrize(
    ("name", "arguments", "confirmed"),
    [
        ("delete_page", {"slug": "old", "confirmed": True}, True),
        ("delete_page", {"slug": "old", "confirmed": "yes"}, False),
        ("execute_tool", {"name": "delete_page", "params": {"slug": "old", "confirmed": True}}, True),
        ("execute_tool", {"name": "delete_page", "params": {"slug": "old"}, "confirmed": True}, True),
    ],
)
async def test_the_models_word_is_read_and_never_reaches_the_tool(name: str, arguments: Any, confirmed: bool) -> None:
    heard: list[Any] = []

    async def consent(pending: Any, said: bool, /) -> Any:
        heard.append((dict(pending.arguments), said))
        return pending.as_result()

    _, model = scripted([(name, arguments)], "Well.")
    box = Toolbox(Shop().catalog, surface=browse_surface, pinned=["delete_page"])
    await Agent(model, toolsets=[CribToolset(box, consent=consent)]).run("Delete old")
    assert heard == [({"slug": "old"}, confirmed)]


async def test_a_tool_with_a_confirmed_of_its_own_keeps_it() -> None:
    catalog = Shop().catalog

    @catalog.tool(risk="destructive")
    async def wipe(confirmed: bool) -> str:
        """Wipe everything."""
        return f"wiped: {confirmed}"

    async def consent(pending: Any, said: bool, /) -> Any:
        assert (pending.arguments, said) == ({"confirmed": True}, True)
        return pending.approve()

    script, model = scripted([("wipe", {"confirmed": True})], "Gone.")
    toolset = CribToolset[object](Toolbox(catalog, pinned=["wipe"]), consent=consent)
    done = await Agent(model, toolsets=[toolset]).run("Wipe")
    assert [part.content for part in returns(done.all_messages())] == ["wiped: True"]
    assert script.schemas[0]["wipe"]["properties"]["confirmed"].get("description") is None


@pytest.mark.parametrize(("delivery", "grows"), [("append", True), ("replace", False)])
async def test_changed_protocols_are_appended_or_rewritten(delivery: str, grows: bool) -> None:
    script, model = scripted([("tool_search", {"query": "find an image"})], "Ready.", "Still.")
    toolset = CribToolset[object](Toolbox(Shop().catalog, surface=search_surface), delivery=delivery)
    agent = Agent(model, toolsets=[toolset], instructions="Be brief.")
    first = await agent.run("Find images")
    second = await agent.run("Still?", message_history=first.all_messages())
    parts = [part for message in second.all_messages() for part in message.parts]
    deltas = [part for part in parts if isinstance(part, InstructionDeltaPart)]
    assert bool(deltas) is grows
    assert ("## search_images" in script.instructions[1]) is not grows
    if grows:
        assert "## search_images" in str(deltas[0].content)


async def test_a_replaced_tool_is_described_anew() -> None:
    shop = Shop()
    script, model = scripted("One.", "Two.")
    agent = Agent(model, toolsets=[CribToolset(Toolbox(shop.catalog, pinned=["rename_page"]))])
    await agent.run("Hi")
    tool = shop.catalog.get("rename_page")
    shop.catalog.replace(
        tool.with_metadata(parameters={"type": "object", "properties": {}}, protocol=Protocol(gotcha="New."))
    )
    await agent.run("Hi")
    assert script.schemas[1]["rename_page"] == {"type": "object", "properties": {}}
    assert "GOTCHA: New." in script.instructions[1]


def test_what_the_model_sees_is_made_once_until_something_changes(tmp_path: Path) -> None:
    catalog = Shop().catalog
    box = Toolbox(catalog, surface=search_surface)
    toolset = CribToolset[object](box, guidance=Guidance(tmp_path))
    first = toolset.step()
    assert toolset.step() is first
    box.activate(["search_images"])
    second = toolset.step()
    assert second is toolset.step()
    assert [one.name for one in second.definitions] == ["tool_search", "search_images"]
    assert second.definitions[0] is first.definitions[0], "what stays is the same definition"
    (tmp_path / "images.md").write_text("Roses first.", "utf-8")
    assert "Roses first." in toolset.step().protocols
    catalog.remove("search_images")
    assert toolset.step().tools == first.tools
