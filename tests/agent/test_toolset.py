"""A toolbox in anyone's Pydantic AI agent."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, FunctionToolset, RunContext, ToolDenied
from pydantic_ai.capabilities import HandleDeferredToolCalls, PrepareTools
from pydantic_ai.messages import (
    InstructionDeltaPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ToolReturnPart,
)
from pydantic_ai.tools import ToolDefinition

from tests.support.agent import Shop, scripted
from toolcrib.agent.run_toolset import RunToolset
from toolcrib.agent.toolset import CribToolset
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.protocols import Guidance
from toolcrib.discovery.surfaces.browse import browse_surface, compact_surface
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import ToolcribError
from toolcrib.policy.policy import Policy, Rule
from toolcrib.tools.tool import Protocol


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
    agent = Agent(model, toolsets=[CribToolset(catalog)])
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


async def test_a_tool_that_asks_is_not_called_before_the_user_answered() -> None:
    shop = Shop()
    script, model = scripted([("delete_page", {"slug": "old", "confirmed": True})], "Shall I?")
    done = await Agent(model, toolsets=[CribToolset(shop.catalog, pinned=["delete_page"])]).run("Delete old")
    assert shop.deleted == []
    assert str(returns(done.all_messages())[0].content).startswith("requires_confirmation")
    assert "confirmed" in script.schemas[0]["delete_page"]["properties"]


def stored(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Messages as another process reads them."""
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages))


AGAIN = [("delete_page", {"slug": "old", "confirmed": True})]


@pytest.mark.parametrize(
    ("answers", "deleted"),
    [
        (["Yes, please"], ["old"]),
        (["No, keep it"], []),
        (["What is on it?"], []),
        (["What is on it?", "Fine, go ahead"], ["old"]),
        (["No", "Yes"], []),
    ],
)
async def test_a_confirmation_in_words_ends_in_any_process(answers: list[str], deleted: list[str]) -> None:
    shop = Shop()
    script, model = scripted(
        [("delete_page", {"slug": "old"})], "Shall I delete old?", *[turn for _ in answers for turn in (AGAIN, "Well.")]
    )
    asked = await Agent(model, toolsets=[CribToolset(shop.catalog)]).run("Delete old")
    messages = asked.all_messages()
    for answer in answers:
        assert shop.deleted == []
        agent = Agent(model, toolsets=[CribToolset(shop.catalog)])  # as after a restart
        messages = (await agent.run(answer, message_history=stored(messages))).all_messages()
    assert shop.deleted == deleted
    assert script.said == []


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ({"slug": "old", "confirmed": True}, "requires_confirmation"),
        (
            {"slug": "home", "confirmed": True},
            "requires_confirmation: delete_page was not called. The user has to agree",
        ),
    ],
)
async def test_a_yes_counts_once_and_for_these_arguments(second: Any, told: str) -> None:
    shop = Shop()
    _, model = scripted(
        [("delete_page", {"slug": "old"})], "Shall I?", AGAIN, [("delete_page", second)], "Shall I do that, too?"
    )
    agent = Agent(model, toolsets=[CribToolset(shop.catalog)])
    asked = await agent.run("Delete old")
    done = await agent.run("Yes", message_history=asked.all_messages())
    assert shop.deleted == ["old"]
    assert str(returns(done.new_messages())[-1].content).startswith(told)


async def test_found_tools_come_back_from_the_history_in_another_process() -> None:
    _, model = scripted([("tool_search", {"query": "rename a page"})], "Ready.")
    first = await Agent(model, toolsets=[CribToolset(Shop().catalog)]).run("Can you rename pages?")
    shop = Shop()
    later, model = scripted([("rename_page", {"slug": "home", "title": "Start"})], "Done.")
    agent = Agent(model, toolsets=[CribToolset(shop.catalog)])
    await agent.run("Then rename home to Start", message_history=stored(first.all_messages()))
    assert later.tools[0] == ["tool_search", "rename_page"]
    assert shop.renamed == [("home", "Start")]


async def test_a_client_that_drops_metadata_keeps_what_was_found() -> None:
    script, model = scripted([("tool_search", {"query": "rename a page"})], "Ready.", "Yes.")
    agent = Agent(model, toolsets=[CribToolset(Shop().catalog)])
    messages = (await agent.run("Can you rename pages?")).all_messages()
    for part in returns(messages):
        part.metadata = None
    await agent.run("Still?", message_history=messages)
    assert script.tools[2] == ["tool_search", "rename_page"]


async def test_users_of_one_agent_share_nothing() -> None:
    script, model = scripted([("tool_search", {"query": "rename a page"})], "Ready.", "Hello.")
    agent = Agent(model, toolsets=[CribToolset(Shop().catalog)])
    await agent.run("Can you rename pages?")
    await agent.run("Hello")
    assert script.tools[2] == ["tool_search"]


async def test_an_idle_tool_leaves_and_can_still_be_called() -> None:
    shop = Shop()
    toolset = CribToolset[object](shop.catalog, idle_turns=2)
    script, model = scripted([("tool_search", {"query": "rename a page"})], "Ready.")
    messages = (await Agent(model, toolsets=[toolset]).run("Can you rename pages?")).all_messages()
    seen: list[bool] = []
    for _ in range(3):
        script, model = scripted("Hm.")
        messages = (await Agent(model, toolsets=[toolset]).run("And?", message_history=messages)).all_messages()
        seen.append("rename_page" in script.tools[0])
    assert seen == [True, True, False]
    script, model = scripted([("rename_page", {"slug": "home", "title": "Start"})], "Done.")
    await Agent(model, toolsets=[toolset]).run("Rename home to Start", message_history=messages)
    assert shop.renamed == [("home", "Start")]
    assert ["rename_page" in tools for tools in script.tools] == [False, True]


async def test_a_name_that_does_not_exist_is_answered_by_pydantic_ai() -> None:
    _, model = scripted([("nonsense", {})], "Sorry.")
    done = await Agent(model, toolsets=[CribToolset(Shop().catalog)]).run("Do nonsense")
    assert "Unknown tool name: 'nonsense'" in str(returns(done.all_messages())[0].content)


@pytest.mark.parametrize("output", [[str, DeferredToolRequests], str | DeferredToolRequests])
async def test_an_agent_that_can_defer_is_asked_that_way(output: Any) -> None:
    script, model = scripted([("delete_page", {"slug": "old"})])
    agent: Agent[object, Any] = Agent(
        model, toolsets=[CribToolset(Shop().catalog, pinned=["delete_page"])], output_type=output
    )
    paused = await agent.run("Delete old")
    assert isinstance(paused.output, DeferredToolRequests)
    assert "confirmed" not in script.schemas[0]["delete_page"]["properties"]


async def test_a_capability_that_handles_deferred_calls_is_asked() -> None:
    shop = Shop()

    async def approve(ctx: RunContext[Any], requests: DeferredToolRequests) -> Any:
        return requests.build_results(approve_all=True)

    _, model = scripted([("delete_page", {"slug": "old"})], "Gone.")
    agent = Agent(model, toolsets=[CribToolset(shop.catalog)], capabilities=[HandleDeferredToolCalls(approve)])
    assert (await agent.run("Delete old")).output == "Gone."
    assert shop.deleted == ["old"]


def test_what_cannot_be_served_is_named() -> None:
    with pytest.raises(ToolcribError, match="'tools' is no catalog and no toolbox"):
        CribToolset("tools")  # pyright: ignore[reportArgumentType] - that is the mistake
    with pytest.raises(ToolcribError, match="'mail' is no toolset of Pydantic AI"):
        CribToolset([FunctionToolset(), "mail"])  # pyright: ignore[reportArgumentType] - that is the mistake
    with pytest.raises(ToolcribError, match="The toolbox has its own pinned"):
        CribToolset(Toolbox(Catalog()), pinned=["one"])


def test_a_toolbox_without_any_way_in_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    CribToolset(Toolbox(Shop().catalog))
    assert "The model sees no tools: the toolbox has no surface." in caplog.text


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
    toolset = RunToolset[object](box, guidance=Guidance(tmp_path))
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


def no_reports(ctx: RunContext[Any], definition: ToolDefinition) -> bool:
    return definition.name != "rename_page"


async def without_reports(ctx: RunContext[Any], definitions: list[ToolDefinition]) -> list[ToolDefinition]:
    return [one for one in definitions if one.name != "rename_page"]


@pytest.mark.parametrize("wrapped", [True, False], ids=["filtered", "prepared by a capability"])
async def test_what_the_application_hides_cannot_be_called_by_its_name(wrapped: bool) -> None:
    shop = Shop()
    _, model = scripted([("rename_page", {"slug": "home", "title": "Start"})], "I cannot.")
    toolset = CribToolset[object](shop.catalog)
    agent = (
        Agent(model, toolsets=[toolset.filtered(no_reports)])
        if wrapped
        else Agent(model, toolsets=[toolset], capabilities=[PrepareTools(without_reports)])
    )
    await agent.run("Rename home")
    assert shop.renamed == []
