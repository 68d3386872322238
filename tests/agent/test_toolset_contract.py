"""What Pydantic AI documents of toolsets, held against ours: alone, and inside each of its wrappers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, ModelRetry, RunContext, ToolDenied
from pydantic_ai.exceptions import UnexpectedModelBehavior, UserError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ToolReturnPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, DynamicToolset, FunctionToolset, WrapperToolset
from pydantic_ai.usage import RunUsage

from tests.support.agent import Shop, scripted
from toolcrib.agent.toolset import CribToolset
from toolcrib.catalog.catalog import Catalog


def keep_all(ctx: RunContext[Any], definition: ToolDefinition) -> bool:
    return True


async def shout(ctx: RunContext[Any], definitions: list[ToolDefinition]) -> list[ToolDefinition]:
    return [replace(one, description=(one.description or "").upper()) for one in definitions]


def never(ctx: RunContext[Any], definition: ToolDefinition, arguments: dict[str, Any]) -> bool:
    return False


OTHER_NAMES = {"look_for": "tool_search", "retitle": "rename_page"}


def same(name: str) -> str:
    return name


def prefixed(name: str) -> str:
    return f"crib_{name}"


def renamed(name: str) -> str:
    return next((new for new, own in OTHER_NAMES.items() if own == name), name)


@dataclass(frozen=True, kw_only=True)
class Wrapping:
    """One way to put a toolset into another one, and by which name the model then calls a tool."""

    wrap: Callable[[AbstractToolset[Any]], AbstractToolset[Any]]
    name: Callable[[str], str] = same
    decides: bool = False  # whether it decides which tools there are


WRAPPINGS = {
    "alone": Wrapping(wrap=lambda inner: inner),
    "wrapper": Wrapping(wrap=WrapperToolset),
    "combined": Wrapping(wrap=lambda inner: CombinedToolset([FunctionToolset(), inner])),
    "filtered": Wrapping(wrap=lambda inner: inner.filtered(keep_all), decides=True),
    "prepared": Wrapping(wrap=lambda inner: inner.prepared(shout), decides=True),
    "prefixed": Wrapping(wrap=lambda inner: inner.prefixed("crib"), name=prefixed),
    "renamed": Wrapping(wrap=lambda inner: inner.renamed(OTHER_NAMES), name=renamed),
    "renamed, then prefixed": Wrapping(
        wrap=lambda inner: inner.renamed(OTHER_NAMES).prefixed("crib"), name=lambda name: prefixed(renamed(name))
    ),
    "metadata": Wrapping(wrap=lambda inner: inner.with_metadata(team="web")),
    "return schemas": Wrapping(wrap=lambda inner: inner.include_return_schemas()),
    "approval": Wrapping(wrap=lambda inner: inner.approval_required(never)),
    "a function, each step": Wrapping(wrap=lambda inner: DynamicToolset(lambda ctx: inner)),
    "a function, each run": Wrapping(wrap=lambda inner: DynamicToolset(lambda ctx: inner, per_run_step=False)),
}
every_wrapping = pytest.mark.parametrize("how", WRAPPINGS.values(), ids=WRAPPINGS)

RENAME = {"slug": "home", "title": "Start"}


def results(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [part for one in messages for part in one.parts if isinstance(part, ToolReturnPart)]


def stored(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Messages as another process reads them."""
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages))


# Listing and calling


@every_wrapping
async def test_a_tool_is_listed_once_found_and_called(how: Wrapping) -> None:
    shop = Shop()
    find, rename = how.name("tool_search"), how.name("rename_page")
    script, model = scripted([(find, {"query": "rename a page"})], [(rename, RENAME)], "Done.")
    agent = Agent(model, toolsets=[how.wrap(CribToolset(shop.catalog))])
    assert (await agent.run("Rename home")).output == "Done."
    assert script.tools[0] == [find]
    assert rename in script.tools[1]
    assert shop.renamed == [("home", "Start")]


@every_wrapping
async def test_protocols_stand_in_the_instructions(how: Wrapping) -> None:
    script, model = scripted("Hello.")
    await Agent(model, toolsets=[how.wrap(CribToolset(Shop().catalog, pinned=["search_images"]))]).run("Hello")
    assert "Use the id of an image with set_hero_image." in script.instructions[0]


@every_wrapping
async def test_a_failure_is_a_failed_result(how: Wrapping) -> None:
    _, model = scripted([(how.name("broken_report"), {"name": "May"})], "It is broken.")
    agent = Agent(model, toolsets=[how.wrap(CribToolset(Shop().catalog, pinned=["broken_report"]))])
    assert [one.outcome for one in results((await agent.run("Report")).all_messages())] == ["failed"]


@every_wrapping
@pytest.mark.parametrize("way", ["stream", "iter", "events"])
async def test_streaming_runs_the_same_way(how: Wrapping, way: str) -> None:
    shop = Shop()
    _, model = scripted([(how.name("rename_page"), RENAME)], "Done.")
    agent = Agent(model, toolsets=[how.wrap(CribToolset(shop.catalog, pinned=["rename_page"]))])
    if way == "stream":
        async with agent.run_stream("Rename home") as stream:
            assert await stream.get_output() == "Done."
    elif way == "iter":
        async with agent.iter("Rename home") as run:
            async for _ in run:
                pass
        assert run.result is not None
        assert run.result.output == "Done."
    else:
        async with agent.run_stream_events("Rename home") as events:
            kinds = [event.event_kind async for event in events]
        assert "function_tool_result" in kinds
    assert shop.renamed == [("home", "Start")]


@every_wrapping
async def test_what_a_tool_says_of_itself_reaches_the_definition(how: Wrapping) -> None:
    catalog = Catalog()

    @catalog.tool(strict=True, sequential=True, retries=7)
    def count(number: int) -> int:
        """Count."""
        return number

    seen: list[ToolDefinition] = []

    async def see(ctx: RunContext[Any], definitions: list[ToolDefinition]) -> list[ToolDefinition]:
        seen.extend(definitions)
        return definitions

    model = TestModel(call_tools=[])
    await Agent(model, toolsets=[how.wrap(CribToolset(catalog, pinned=["count"])).prepared(see)]).run("Count")
    definition = next(one for one in seen if one.name == how.name("count"))
    assert (definition.strict, definition.sequential) == (True, True)


# Retries


def guessing(retries: int | None = None) -> Catalog:
    catalog = Catalog()

    @catalog.tool(retries=retries)
    def guess(ctx: RunContext[object], number: int) -> str:
        """Guess a number."""
        if number != 7:
            raise ModelRetry(f"Wrong, and {ctx.retry} of {ctx.max_retries} tries are used.")
        return "right"

    return catalog


@every_wrapping
@pytest.mark.parametrize(("of_tool", "of_agent"), [(2, 0), (None, 2)])
async def test_a_tool_may_ask_for_as_many_retries_as_it_has(how: Wrapping, of_tool: Any, of_agent: int) -> None:
    name = how.name("guess")
    wrong = [(name, {"number": 1})]

    def agent_of(model: Any) -> Agent[object, str]:
        toolset = CribToolset[object](guessing(of_tool), pinned=["guess"])
        return Agent(model, toolsets=[how.wrap(toolset)], retries={"tools": of_agent})

    _, model = scripted(wrong, wrong, [(name, {"number": 7})], "Right.")
    done = await agent_of(model).run("Guess")
    assert [one.content for one in results(done.all_messages())][-1] == "right"
    assert "1 of 2 tries are used" in str(results(done.all_messages())[1].content)
    _, model = scripted(wrong, wrong, wrong, "Right.")
    with pytest.raises(UnexpectedModelBehavior, match="exceeded max retries count of 2"):
        await agent_of(model).run("Guess")


# Deferring


@every_wrapping
@pytest.mark.parametrize(("answer", "deleted"), [(True, ["old"]), (ToolDenied("no"), [])])
async def test_a_call_that_needs_a_yes_is_deferred(how: Wrapping, answer: Any, deleted: list[str]) -> None:
    shop = Shop()
    name = how.name("delete_page")
    _, model = scripted([(name, {"slug": "old"})], "Settled.")
    toolset = CribToolset[object](shop.catalog, pinned=["delete_page"])
    agent = Agent(model, toolsets=[how.wrap(toolset)], output_type=[str, DeferredToolRequests])
    paused = await agent.run("Delete old")
    assert isinstance(paused.output, DeferredToolRequests)
    (call,) = paused.output.approvals
    assert (call.tool_name, shop.deleted) == (name, [])
    results = paused.output.build_results(approvals={call.tool_call_id: answer})
    done = await agent.run(message_history=stored(paused.all_messages()), deferred_tool_results=results)
    assert (done.output, shop.deleted) == ("Settled.", deleted)


async def test_a_wrapper_that_asks_for_approval_is_asked_once() -> None:
    shop = Shop()
    _, model = scripted([("delete_page", {"slug": "old"})], "Gone.")
    toolset = CribToolset[object](shop.catalog, pinned=["delete_page"]).approval_required()
    agent = Agent(model, toolsets=[toolset], output_type=[str, DeferredToolRequests])
    paused = await agent.run("Delete old")
    assert isinstance(paused.output, DeferredToolRequests)
    answers = paused.output.build_results(approve_all=True)
    done = await agent.run(message_history=paused.all_messages(), deferred_tool_results=answers)
    assert (done.output, shop.deleted) == ("Gone.", ["old"])


async def test_tools_can_be_held_back_for_pydantic_ais_own_search() -> None:
    shop = Shop()
    toolset = CribToolset[object](shop.catalog, pinned=["rename_page"])
    script, model = scripted([("search_tools", {"queries": ["page title"]})], [("rename_page", RENAME)], "Done.")
    agent = Agent(model, toolsets=[toolset.defer_loading(["rename_page"])])
    assert (await agent.run("Rename home")).output == "Done."
    assert "rename_page" not in script.tools[0]
    assert shop.renamed == [("home", "Start")]


# State


@every_wrapping
async def test_what_was_found_and_used_is_there_in_another_process(how: Wrapping) -> None:
    find, rename = how.name("tool_search"), how.name("rename_page")
    _, model = scripted([(find, {"query": "rename a page"})], [(rename, RENAME)], "Done.")
    first = await Agent(model, toolsets=[how.wrap(CribToolset(Shop().catalog))]).run("Rename home")
    later, model = scripted(*["Hello."] * 3)
    messages = stored(first.all_messages())
    for _ in range(3):
        agent = Agent(model, toolsets=[how.wrap(CribToolset(Shop().catalog, idle_turns=2))])
        messages = stored((await agent.run("Hello", message_history=messages)).all_messages())
    assert [rename in tools for tools in later.tools] == [True, True, False]


@every_wrapping
async def test_a_tool_that_is_not_listed_can_be_called_where_no_wrapper_decides(how: Wrapping) -> None:
    shop = Shop()
    _, model = scripted([(how.name("rename_page"), RENAME)], "Well.")
    done = await Agent(model, toolsets=[how.wrap(CribToolset(shop.catalog))]).run("Rename home")
    assert shop.renamed == ([] if how.decides else [("home", "Start")])
    assert ("Unknown tool name" in str(results(done.all_messages())[0].content)) is how.decides


@every_wrapping
async def test_the_user_confirms_in_words_in_another_process(how: Wrapping) -> None:
    shop = Shop()
    name = how.name("delete_page")
    _, model = scripted(
        [(name, {"slug": "old"})], "Shall I?", [(name, {"slug": "old", "confirmed": True})] * 2, "Gone.", "Good."
    )

    def agent() -> Agent[object, str]:
        return Agent(model, toolsets=[how.wrap(CribToolset(shop.catalog, pinned=["delete_page"]))])

    asked = await agent().run("Delete old")
    done = await agent().run("Yes, please", message_history=stored(asked.all_messages()))
    assert shop.deleted == ["old"], "once, though it was called twice in one step"
    await agent().run("Thank you", message_history=stored(done.all_messages()))
    assert shop.deleted == ["old"]


@every_wrapping
async def test_runs_at_once_share_nothing(how: Wrapping) -> None:
    agent = Agent(TestModel(), toolsets=[how.wrap(CribToolset(Shop().catalog))])
    asked = {"rename a page": "rename_page", "find an image": "search_images", "make a report": "broken_report"}
    scripts = [scripted([(how.name("tool_search"), {"query": query})], "Ready.") for query in asked]
    await asyncio.gather(*(agent.run("Find it", model=model) for _, model in scripts))
    for (script, _), name in zip(scripts, asked.values(), strict=True):
        listed = {one for one in asked.values() if how.name(one) in script.tools[1]}
        assert name in listed
        assert ("search_images" in listed) is (name == "search_images")


# Ids, entering and leaving, the methods by themselves


def context(**fields: Any) -> RunContext[Any]:
    return RunContext(deps=None, model=TestModel(), usage=RunUsage(), **fields)


async def test_each_run_has_a_toolset_of_its_own_and_steps_share_it() -> None:
    toolset = CribToolset[Any](Shop().catalog)
    one, two = await toolset.for_run(context(run_id="a")), await toolset.for_run(context(run_id="b"))
    assert one is not two
    assert one.toolbox is not two.toolbox
    assert await one.for_run_step(context(run_id="a")) is one


async def test_an_id_names_the_toolset_and_each_run_of_it() -> None:
    toolset = CribToolset[Any](Shop().catalog)
    assert (toolset.id, toolset.label) == ("toolcrib", "CribToolset 'toolcrib'")
    assert CribToolset(Shop().catalog, id="shop").id == "shop"
    assert (await CribToolset[Any](Shop().catalog, id="shop").for_run(context())).id == "shop"


def test_it_is_a_leaf_that_visitors_find_and_replace() -> None:
    toolset = CribToolset[Any](Shop().catalog)
    seen: list[AbstractToolset[Any]] = []
    toolset.prefixed("crib").filtered(keep_all).apply(seen.append)
    assert seen == [toolset]
    other = FunctionToolset[Any]()
    changed = toolset.prefixed("crib").visit_and_replace(lambda leaf: other)
    assert changed == other.prefixed("crib")


async def test_entering_and_leaving_changes_nothing() -> None:
    _, model = scripted("One.", "Two.", "Three.")
    agent = Agent(model, toolsets=[CribToolset(Shop().catalog)])
    async with agent:
        assert (await agent.run("Hi")).output == "One."
        async with agent:
            assert (await agent.run("Hi")).output == "Two."
    assert (await agent.run("Hi")).output == "Three."


async def test_it_lists_and_calls_by_itself_as_in_a_test_of_an_application() -> None:
    shop = Shop()
    toolset = CribToolset[Any](shop.catalog, pinned=["rename_page"])
    async with toolset:
        tools = await toolset.get_tools(context())
        assert list(tools) == ["tool_search", "rename_page"]
        entry = tools["rename_page"]
        assert entry.args_validator.validate_json('{"slug": "home", "title": "Start"}') == RENAME
        done = await toolset.call_tool("rename_page", RENAME, context(tool_call_id="1"), entry)
    assert done.return_value == "home is now called Start"
    assert shop.renamed == [("home", "Start")]


async def test_an_agent_can_be_given_it_in_every_way() -> None:
    catalog = Shop().catalog
    script, model = scripted(*["Hello."] * 4)
    bare = Agent(model)
    await bare.run("Hi", toolsets=[CribToolset(catalog)])
    with bare.override(toolsets=[CribToolset(catalog)]):
        await bare.run("Hi")
    decorated = Agent(model)
    decorated.toolset(lambda ctx: CribToolset(catalog))
    await decorated.run("Hi")
    await Agent(model, toolsets=[lambda ctx: CribToolset(catalog)]).run("Hi")
    assert script.tools == [["tool_search"]] * 4


async def test_two_with_one_name_are_named_and_prefixes_part_them() -> None:
    shop = Shop()
    script, model = scripted("Hello.")
    both = [CribToolset(shop.catalog, id="one"), CribToolset(shop.catalog, id="two")]
    with pytest.raises(UserError, match=r"'tool_search'\. Rename the tool or wrap the toolset in a `PrefixedToolset`"):
        await Agent(model, toolsets=both).run("Hi")
    await Agent(model, toolsets=[both[0].prefixed("one"), both[1].prefixed("two")]).run("Hi")
    assert script.tools == [["one_tool_search", "two_tool_search"]]
