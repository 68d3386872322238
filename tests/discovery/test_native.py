"""The providers' own forms, held against the types of their packages."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from anthropic.types import ToolParam as AnthropicTool, ToolResultBlockParam
from anthropic.types.tool_result_block_param import Content
from openai.types.chat import ChatCompletionToolParam
from openai.types.responses import FunctionToolParam, ToolParam as ResponsesTool
from openai.types.responses.namespace_tool_param import ToolFunction
from openai.types.responses.response_tool_search_output_item_param_param import ResponseToolSearchOutputItemParamParam
from pydantic import TypeAdapter

from toolcrib.discovery.native import (
    NOTHING_FOUND,
    RESERVED_NAMESPACES,
    anthropic_search_result,
    anthropic_tools,
    chat_tools,
    namespaces,
    responses_search_output,
    responses_tools,
)
from toolcrib.discovery.tokens import count_tokens
from toolcrib.errors import NativeFormError
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import SAFE_NAME, Tool

PARAMETERS = {"type": "object", "properties": {"slug": {"type": "string"}}, "required": ["slug"]}


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def a_tool(name: str, category: str = "", **fields: Any) -> Tool:
    tool = Tool(name=name, category=category, description=f"Do {name}.", parameters=PARAMETERS, call=call)
    return replace(tool, **fields)


SEARCH = a_tool(
    "tool_search", parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
)
PAGES = [a_tool(f"page_{number}", "pages") for number in range(12)]


def accepted(kind: Any, value: dict[str, Any], inner: Any = None) -> None:
    """The provider's package takes the value, and knows each of its keys; `inner` is what its list is made of.

    A `TypedDict` lets foreign keys pass, so what comes back is compared: pydantic drops what it does not know. Lists,
    which these packages call `Iterable`, it checks only while they are read; so each item is checked by itself.
    """
    read = TypeAdapter(kind).validate_python(value)
    lists = {key for key, part in read.items() if type(part).__name__ == "ValidatorIterator"}
    assert {key: part for key, part in read.items() if key not in lists} == {
        key: part for key, part in value.items() if key not in lists
    }
    for key in lists:
        for item in value[key]:
            accepted(inner, item)


def names(entries: Iterable[dict[str, Any]]) -> list[str]:
    return [entry["name"] for entry in entries]


def test_chat_tools_are_the_visible_ones_in_their_order() -> None:
    entries = chat_tools([SEARCH, PAGES[3], PAGES[1], PAGES[3]])
    for entry in entries:
        accepted(ChatCompletionToolParam, entry)
    assert [entry["function"]["name"] for entry in entries] == ["tool_search", "page_3", "page_1"]


def test_anthropic_gets_every_tool_and_holds_back_all_but_the_visible() -> None:
    entries = anthropic_tools([SEARCH, PAGES[5]], reversed(PAGES))
    for entry in entries:
        accepted(AnthropicTool, entry)
    assert names(entries[:2]) == ["tool_search", "page_5"]
    assert names(entries[2:]) == sorted(tool.name for tool in PAGES if tool.name != "page_5")
    assert [entry.get("defer_loading") for entry in entries] == [None, None, *[True] * 11]


def test_anthropic_requests_are_the_same_in_whatever_order_the_tools_came() -> None:
    assert json.dumps(anthropic_tools([SEARCH], PAGES)) == json.dumps(anthropic_tools([SEARCH], reversed(PAGES)))


def test_anthropic_is_not_sent_tools_that_are_all_held_back() -> None:
    with pytest.raises(NativeFormError, match="all deferred"):
        anthropic_tools([], PAGES)


def test_an_anthropic_search_answers_with_references_in_the_order_found() -> None:
    result = anthropic_search_result("toolu_1", ["page_2", "page_1", "page_2"])
    accepted(ToolResultBlockParam, result, Content)
    assert result == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [
            {"type": "tool_reference", "tool_name": "page_2"},
            {"type": "tool_reference", "tool_name": "page_1"},
        ],
    }


def test_an_anthropic_search_that_finds_nothing_says_so_in_a_text() -> None:
    result = anthropic_search_result("toolu_1", [])
    accepted(ToolResultBlockParam, result, Content)
    assert result["content"] == [{"type": "text", "text": "No tool fits. Try other words."}]


def test_the_words_of_the_native_forms_are_short() -> None:
    """What a model reads here that is ours, with its tokens."""
    said = [NOTHING_FOUND, namespaces([a_tool("zoom")])[0]["description"], namespaces(PAGES[:2])[0]["description"]]
    assert [(text, count_tokens(text)) for text in said] == [
        ("No tool fits. Try other words.", 8),
        ("Other tools: zoom", 4),
        ("pages: page_0, page_1", 9),
    ]


def test_responses_get_a_search_that_the_client_executes() -> None:
    entries = responses_tools(SEARCH, [SEARCH, PAGES[0]])
    for entry in entries:
        accepted(ResponsesTool, entry)
    assert entries == [
        {
            "type": "tool_search",
            "execution": "client",
            "description": "Do tool_search.",
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
                "additionalProperties": False,
            },
        },
        {
            "type": "function",
            "name": "page_0",
            "description": "Do page_0.",
            "parameters": PARAMETERS,
            "strict": False,
        },
    ]


def test_responses_hold_tools_back_in_namespaces_of_less_than_ten() -> None:
    entries = responses_tools(SEARCH, [PAGES[0]], [*reversed(PAGES), a_tool("zoom")])
    for entry in entries:
        accepted(ResponsesTool, entry, ToolFunction)
    spaces = entries[2:]
    assert [(space["name"], len(space["tools"])) for space in spaces] == [
        ("other_tools", 1),
        ("pages", 9),
        ("pages_2", 2),
    ]
    assert "page_0" not in [name for space in spaces for name in names(space["tools"])]
    assert all(tool["defer_loading"] for space in spaces for tool in space["tools"])
    assert spaces[2]["description"] == "pages: page_8, page_9"


def test_a_responses_search_answers_with_definitions() -> None:
    output = responses_search_output("call_1", [PAGES[1], PAGES[0], PAGES[1]])
    accepted(ResponseToolSearchOutputItemParamParam, output, FunctionToolParam)
    assert {key: value for key, value in output.items() if key != "tools"} == {
        "type": "tool_search_output",
        "call_id": "call_1",
        "execution": "client",
        "status": "completed",
    }
    assert names(output["tools"]) == ["page_1", "page_0"]


@pytest.mark.parametrize("category", [*sorted(RESERVED_NAMESPACES), "strony główne", "x" * 90, "1 & only", "工具"])
def test_a_namespace_has_a_name_that_openai_accepts(category: str) -> None:
    spaces = namespaces([a_tool(f"tool_{number}", category) for number in range(30)])
    called = names(spaces)
    assert len(set(called)) == 4
    assert all(SAFE_NAME.fullmatch(name) and name not in RESERVED_NAMESPACES for name in called)


def test_categories_whose_safe_names_meet_get_namespaces_of_their_own() -> None:
    spaces = namespaces([a_tool("one", "a b"), a_tool("two", "a-b"), a_tool("three", "A_b")])
    assert len({name.casefold() for name in names(spaces)}) == 3


@pytest.mark.parametrize(("kind", "entry"), [(AnthropicTool, anthropic_tools), (ChatCompletionToolParam, chat_tools)])
def test_a_key_that_a_package_does_not_know_would_be_noticed(kind: Any, entry: Any) -> None:
    with pytest.raises(AssertionError):
        accepted(kind, entry([SEARCH])[0] | {"defer_lodaing": True})
