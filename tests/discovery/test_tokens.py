"""Tokens: exact for o200k, estimated without it, and never one under the name of the other."""

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import toolcrib_cms
from toolcrib.discovery import tokens
from toolcrib.discovery.token_estimate import estimate
from toolcrib.discovery.tokens import (
    TokenCount,
    compact_json,
    count_tokens,
    definition_tokens,
    is_exact,
    measure,
    message_tokens,
)
from toolcrib.discovery.wire import WIRES, definition
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

DATA = Path(__file__).parents[1] / "data"

ENGLISH = (
    "A tool crib is the room in a factory where the tools are kept: a worker says what the job is, and the attendant "
    "hands over the right tools with a word on how to use them. However many tools there are, the model starts with "
    "one small discovery tool, asks for what it needs in any language, gets the few that fit, and uses them."
)
POLISH = (
    "Narzędziownia to pomieszczenie w fabryce, w którym przechowuje się narzędzia: robotnik mówi, co ma do zrobienia, "
    "a magazynier wydaje mu właściwe narzędzia i krótko wyjaśnia, jak ich używać. Niezależnie od tego, ile ich jest, "
    "model zaczyna od jednego małego narzędzia do wyszukiwania i pyta o to, czego potrzebuje, w dowolnym języku."
)
CHINESE = (
    "工具间是工厂里存放工具的房间：工人说明要做什么工作，管理员就把合适的工具交给他，并简单说明如何使用。"
    "无论有多少工具，模型一开始只看到一个小小的搜索工具，用任何语言提出需求，得到几个合适的工具，然后使用它们。"
)
GERMAN = (
    "Die Werkzeugausgabe ist der Raum einer Fabrik, in dem die Werkzeuge liegen: Wer arbeitet, sagt, was zu tun ist, "
    "und bekommt die richtigen Werkzeuge mit einem Wort dazu, wie man sie benutzt. Wie viele es auch sind, das Modell "
    "beginnt mit einem kleinen Werkzeug für die Suche und fragt in beliebiger Sprache nach dem, was es braucht."
)


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def a_tool(name: str = "find_page", **fields: Any) -> Tool:
    parameters = {"type": "object", "properties": {"slug": {"type": "string"}}, "required": ["slug"]}
    return replace(Tool(name=name, description="Find a page.", parameters=parameters, call=call), **fields)


def cms_tools() -> list[Tool]:
    return list(toolcrib_cms.build(":memory:", seeded=False).catalog)


@pytest.fixture
def without_vocabulary(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(__import__("sys").modules, "bpe_openai", None)
    looked_for = tokens._o200k  # pyright: ignore[reportPrivateUsage] - what was found is kept, and must be forgotten here
    looked_for.cache_clear()
    yield
    looked_for.cache_clear()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("hello world", 2),
        ("cms_getPage", 3),
        ("zażółć gęślą jaźń", 11),
        ("工具", 1),
        ("<|endoftext|>", 7),  # read as plain text, not as the end
        ("half a pair \ud800", 4),
    ],
)
def test_counts_are_those_of_o200k(text: str, expected: int) -> None:
    assert count_tokens(text) == expected


def test_a_text_beyond_the_encoders_limit_is_counted_in_pieces() -> None:
    assert count_tokens("word " * 250_000) == pytest.approx(250_000, rel=0.001)


@pytest.mark.parametrize("text", [ENGLISH, POLISH, CHINESE, GERMAN], ids=["English", "Polish", "Chinese", "German"])
def test_the_estimate_of_prose_is_within_a_tenth(text: str) -> None:
    assert estimate(text) == pytest.approx(count_tokens(text), rel=0.10)


def test_the_estimate_of_every_real_definition_is_within_a_tenth_and_of_all_within_five_percent() -> None:
    texts = [compact_json(definition(tool)) for tool in cms_tools()]
    assert [text for text in texts if estimate(text) != pytest.approx(count_tokens(text), rel=0.10)] == []
    assert sum(map(estimate, texts)) == pytest.approx(sum(map(count_tokens, texts)), rel=0.05)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("   \n\n", 1, 3),
        ("🙂" * 10, 10, 40),
        ("a" * 300, 30, 110),
        ("=" * 80, 1, 30),
        ("!?؟", 1, 3),
        ("가나", 1, 3),
    ],
)
def test_the_estimate_of_odd_texts_is_of_the_right_size(text: str, least: int, most: int) -> None:
    assert least <= estimate(text) <= most


@pytest.mark.usefixtures("without_vocabulary")
def test_without_the_extra_a_count_is_an_estimate_and_says_so() -> None:
    assert measure(ENGLISH, "gpt-5") == TokenCount(tokens=estimate(ENGLISH), exact=False)
    assert str(measure("hello world")) == "about 2"


@pytest.mark.parametrize(
    ("model", "exact"),
    [
        (None, True),
        ("gpt-4o-mini", True),
        ("openai:gpt-5.4", True),
        ("openrouter:openai/gpt-4.1", True),
        ("o3-mini", True),
        ("gpt-4-turbo", False),
        ("gpt-3.5-turbo", False),
        ("claude-sonnet-4-5", False),
        ("deepseek-chat", False),
        ("opus-5", False),
    ],
)
def test_a_count_is_exact_for_models_that_read_o200k(model: str | None, exact: bool) -> None:
    assert is_exact(model) is exact
    assert str(measure("hello world", model)) == ("2" if exact else "about 2")


def test_a_definition_is_counted_as_it_stands_in_each_providers_request() -> None:
    tool = a_tool()
    schema = '{"type":"object","properties":{"slug":{"type":"string"}},"required":["slug"]}'
    texts = {
        "openai-chat": '{"type":"function","function":{"name":"find_page","description":"Find a page.",'
        f'"parameters":{schema}}}}}',
        "openai-responses": '{"type":"function","name":"find_page","description":"Find a page.",'
        f'"parameters":{schema},"strict":false}}',
        "anthropic": f'{{"name":"find_page","description":"Find a page.","input_schema":{schema}}}',
    }
    assert {wire: compact_json(definition(tool, wire)) for wire in WIRES} == texts
    assert {wire: definition_tokens(tool, wire) for wire in WIRES} == {w: count_tokens(t) for w, t in texts.items()}


def test_a_tool_without_parameters_is_sent_with_an_empty_object() -> None:
    bare = a_tool(parameters={})
    assert definition(bare, "anthropic")["input_schema"] == {"type": "object", "properties": {}}


def test_each_tool_is_counted_once_and_forgotten_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return 7

    monkeypatch.setattr(tokens, "count_tokens", count)
    tool = a_tool()
    key = id(tool)
    assert [definition_tokens(tool), definition_tokens(tool), definition_tokens(tool, "anthropic")] == [7, 7, 7]
    assert len(counted) == 2
    assert definition_tokens(a_tool()) == 7  # an equal tool is another tool
    assert len(counted) == 3
    del tool
    gc.collect()
    assert key not in tokens._counted  # pyright: ignore[reportPrivateUsage] - that it is forgotten shows nowhere else


def test_messages_are_counted_by_what_the_model_reads_of_them() -> None:
    chat = [
        {"role": "system", "content": "Be short."},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": '{"a":1}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    anthropic = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Be short."}, {"type": "image", "source": {"data": "x" * 99}}],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]},
    ]
    read = [count_tokens("Be short."), count_tokens("f") + count_tokens('{"a":1}'), count_tokens("done")]
    assert message_tokens(chat) == message_tokens(anthropic) == sum(read) + 3 * 4
    assert message_tokens([]) == 0
