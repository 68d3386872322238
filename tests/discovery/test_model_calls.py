"""Loops of one's own: definitions for each API, calls in the form of each SDK, and what goes back."""

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.types import ToolUseBlock
from langchain_core.messages import ToolCall
from openai.types.chat import ChatCompletionMessageFunctionToolCall
from openai.types.responses import ResponseFunctionToolCall
from pydantic import BaseModel

from tests.support.agent import Shop
from toolcrib import Policy, Rule, Toolbox, browse_surface, search_surface
from toolcrib.errors import NativeFormError, SnapshotError
from toolcrib.tools.context import ToolContext

RENAME: dict[str, object] = {"slug": "home", "title": "Start"}
RENAMED = "home is now called Start"


def toolbox_of(shop: Shop, **options: Any) -> Toolbox:
    return Toolbox(shop.catalog, surface=search_surface, **options)


def chat_call(name: str, arguments: object) -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


TEXT = json.dumps(RENAME)
FORMS: dict[str, tuple[object, dict[str, Any]]] = {
    "chat": (
        ChatCompletionMessageFunctionToolCall.model_validate(chat_call("rename_page", RENAME)),
        {"role": "tool", "tool_call_id": "1", "content": RENAMED},
    ),
    "responses": (
        ResponseFunctionToolCall(type="function_call", call_id="1", name="rename_page", arguments=TEXT),
        {"type": "function_call_output", "call_id": "1", "output": RENAMED},
    ),
    "anthropic": (
        ToolUseBlock(type="tool_use", id="1", name="rename_page", input=RENAME),
        {"type": "tool_result", "tool_use_id": "1", "content": RENAMED, "is_error": False},
    ),
    "langchain": (
        ToolCall(type="tool_call", id="1", name="rename_page", args=RENAME),
        {"role": "tool", "tool_call_id": "1", "content": RENAMED, "status": "success"},
    ),
}


@pytest.mark.parametrize("as_dictionary", [False, True], ids=["object", "dictionary"])
@pytest.mark.parametrize("form", FORMS)
async def test_a_call_is_read_and_answered_in_the_form_it_came_in(form: str, as_dictionary: bool) -> None:
    call, answer = FORMS[form]
    if as_dictionary and isinstance(call, BaseModel):
        call = call.model_dump()
    assert await toolbox_of(Shop()).handle(call) == answer


async def test_a_failure_is_told_as_one_where_the_form_can() -> None:
    toolbox = toolbox_of(Shop())
    block = await toolbox.handle({"type": "tool_use", "id": "1", "name": "broken_report", "input": {"name": "May"}})
    assert block["is_error"] is True
    message = await toolbox.handle({"name": "broken_report", "args": {"name": "May"}, "id": "1"})
    assert message["status"] == "error"
    assert "the printer is on fire" in message["content"]


async def test_arguments_that_are_no_json_are_refused_with_the_schema() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "rename_page", "arguments": '{"slug": "ho'}}
    assert "slug" in (await toolbox_of(Shop()).handle(call))["content"]


@pytest.mark.parametrize("call", ["rename_page", None, {"type": "custom"}, SimpleNamespace(type="message")])
async def test_what_is_no_call_is_named(call: object) -> None:
    with pytest.raises(NativeFormError, match="is no call of a tool"):
        await toolbox_of(Shop()).handle(call)


async def test_the_context_reaches_the_tool() -> None:
    shop = Shop()

    @shop.catalog.tool
    def whose(ctx: ToolContext[str]) -> str:
        """Say whose it is."""
        return ctx.deps

    assert (await toolbox_of(shop).handle(chat_call("whose", {}), "Ada"))["content"] == "Ada"


# What the model sees


async def test_the_list_grows_with_what_is_found() -> None:
    toolbox = toolbox_of(Shop())
    seen = [[one["function"]["name"] for one in toolbox.openai_tools()]]
    await toolbox.handle(chat_call("tool_search", {"query": "rename a page"}))
    seen.append([one["name"] for one in toolbox.responses_tools()])
    seen.append([one["name"] for one in toolbox.anthropic_tools()])
    assert seen[0] == ["tool_search"]
    assert seen[1] == seen[2] == ["tool_search", "rename_page"]


async def test_in_the_native_forms_it_stays_as_it_was() -> None:
    toolbox = toolbox_of(Shop(), pinned=["search_images"])
    before = toolbox.responses_tools(native=True), toolbox.anthropic_tools(native=True)
    assert [one.get("name", one["type"]) for one in before[0]] == ["tool_search", "search_images"]
    assert [one["name"] for one in before[1] if not one.get("defer_loading")] == ["tool_search", "search_images"]
    search = {"query": "rename a page"}
    shown = await toolbox.handle({"type": "tool_search_call", "call_id": "1", "arguments": search})
    assert [one["name"] for one in shown["tools"]] == ["rename_page"]
    block = {"type": "tool_use", "id": "2", "name": "tool_search", "input": search}
    refers = await toolbox.handle(block, native=True)
    assert refers["content"] == [{"type": "tool_reference", "tool_name": "rename_page"}]
    assert (toolbox.responses_tools(native=True), toolbox.anthropic_tools(native=True)) == before
    assert (await toolbox.handle(block))["content"].startswith("Already active"), "in words otherwise"


def test_a_toolbox_without_any_way_in_says_so() -> None:
    with pytest.raises(NativeFormError, match="The model sees no tools: the toolbox has no surface") as error:
        Toolbox(Shop().catalog).openai_tools()
    assert error.value.hint == "Write `Toolbox(catalog, surface=search_surface)`."
    nothing_allowed = Policy(rules=(Rule("hide", name="*"),))
    assert Toolbox(Shop().catalog, policy=nothing_allowed).openai_tools() == []


def test_only_tools_that_ask_first_take_confirmed() -> None:
    toolbox = toolbox_of(Shop(), pinned=["rename_page", "delete_page"])
    for made in (toolbox.responses_tools(), toolbox.responses_tools(native=True)):
        assert ["confirmed" in one["parameters"]["properties"] for one in made] == [False, False, True]
    deferred = toolbox_of(Shop()).anthropic_tools(native=True)
    assert {one["name"] for one in deferred if "confirmed" in one["input_schema"]["properties"]} == {"delete_page"}


# Confirmation

DELETE = chat_call("delete_page", {"slug": "old"})
CONFIRMED = chat_call("delete_page", {"slug": "old", "confirmed": True})


@pytest.mark.parametrize(
    ("answers", "deleted"),
    [
        (["Yes, please"], ["old"]),
        (["No, keep it"], []),
        (["No", "Yes"], []),
        (["What is on it?"], []),
        (["What is on it?", "Fine, go ahead"], ["old"]),
        (["What is on it?", "Who made it?", "Fine, go ahead"], ["old"]),
    ],
)
async def test_a_yes_in_words_counts_for_the_turn_before_and_once(answers: list[str], deleted: list[str]) -> None:
    shop = Shop()
    toolbox = toolbox_of(shop)
    toolbox.begin_turn("Delete the old page")
    assert (await toolbox.handle(CONFIRMED))["content"].startswith("requires_confirmation"), "the model cannot agree"
    for answer in answers:
        stored = json.loads(json.dumps(toolbox.snapshot()))
        toolbox = Toolbox.restore(stored, shop.catalog, surface=search_surface)  # as another process does
        toolbox.begin_turn(answer)
        await toolbox.handle(CONFIRMED)
        await toolbox.handle(CONFIRMED)
    assert shop.deleted == deleted


async def test_a_call_through_a_surface_is_confirmed_as_itself() -> None:
    shop = Shop()
    toolbox = Toolbox(shop.catalog, surface=browse_surface)
    call = chat_call("execute_tool", {"name": "delete_page", "params": {"slug": "old", "confirmed": True}})
    toolbox.begin_turn("Delete the old page")
    assert (await toolbox.handle(call))["content"].startswith("requires_confirmation: delete_page")
    toolbox.begin_turn("Yes")
    assert (await toolbox.handle(call))["content"] == "old is deleted"
    assert shop.deleted == ["old"]


async def test_a_no_and_other_arguments_are_told() -> None:
    shop = Shop()
    toolbox = toolbox_of(shop)
    toolbox.begin_turn("Delete the old page")
    assert "ask them, and end your turn" in (await toolbox.handle(DELETE))["content"]
    assert "the user has not agreed yet" in (await toolbox.handle(CONFIRMED))["content"]
    toolbox.begin_turn("Yes")
    other = await toolbox.handle(chat_call("delete_page", {"slug": "home", "confirmed": True}))
    assert "They agreed to other arguments." in other["content"]
    toolbox.begin_turn("No")
    assert "the user declined" in (await toolbox.handle(chat_call("delete_page", {"slug": "home"})))["content"]
    assert shop.deleted == []


async def test_a_sub_agent_does_not_get_the_users_yes() -> None:
    shop = Shop()
    toolbox = toolbox_of(shop)
    toolbox.begin_turn("Delete the old page")
    await toolbox.handle(DELETE)
    toolbox.begin_turn("Yes")
    other = toolbox.handed_to()
    other.begin_turn("Delete the old page")
    await other.handle(CONFIRMED)
    assert shop.deleted == []


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "awaited"])
@pytest.mark.parametrize("agrees", [True, False])
async def test_the_application_can_ask_by_itself(waits: bool, agrees: bool) -> None:
    shop = Shop()
    heard: list[tuple[str, dict[str, Any]]] = []

    def ask(pending: Any) -> bool:
        heard.append((pending.tool, dict(pending.arguments)))
        return agrees

    async def ask_later(pending: Any) -> bool:
        return ask(pending)

    told = await toolbox_of(shop).handle(CONFIRMED, confirm=ask_later if waits else ask)
    assert heard == [("delete_page", {"slug": "old"})]
    assert shop.deleted == (["old"] if agrees else [])
    assert ("the user declined" in told["content"]) is not agrees


async def test_a_loop_that_tells_no_answer_is_warned(caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop()
    with caplog.at_level(logging.WARNING):
        await toolbox_of(shop).handle(CONFIRMED)
    assert "call `begin_turn(text)` with each message of the user, or `handle(call, confirm=...)`" in caplog.text
    assert shop.deleted == []


@pytest.mark.parametrize("questions", ["yes", {"reply": "perhaps"}, {"reply": "no"}])
def test_questions_that_cannot_be_read_are_refused(questions: object) -> None:
    snapshot = Toolbox(Shop().catalog).snapshot() | {"questions": questions}
    with pytest.raises(SnapshotError, match="no questions under 'questions'"):
        Toolbox.restore(snapshot, Shop().catalog)
