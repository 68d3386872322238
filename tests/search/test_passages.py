"""Passages: which texts of a tool get a vector."""

from collections.abc import Mapping
from typing import Any

import pytest

from toolcrib.search.dense import MAX_PASSAGES, WHOLE_CHARACTERS, parameter_texts, passages, text_passages
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool


async def no_call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    raise NotImplementedError


def test_a_tool_is_its_whole_text_its_phrases_its_name_its_inputs_and_its_sentences() -> None:
    tool = Tool(
        name="get_page",
        description="Get one page by its slug. Pass includeContent for its sections.",
        parameters={
            "type": "object",
            "properties": {"page": {"type": "string", "description": "Id or slug"}, "includeContent": {}},
        },
        phrases=("open a page", "show me the page"),
        call=no_call,
    )
    assert passages(tool) == [
        "get_page Get one page by its slug. Pass includeContent for its sections.",
        "open a page",
        "show me the page",
        "get_page",
        "get_page page Id or slug includeContent",
        "Get one page by its slug.",
        "Pass includeContent for its sections.",
    ]


def test_a_tool_is_called_by_its_category_too_but_the_whole_is_what_it_does() -> None:
    assert text_passages("get_node", "Reads one node.", parameters=("id Its number",), category="alfresco") == [
        "get_node Reads one node.",
        "alfresco get_node",
        "alfresco get_node id Its number",
    ]


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        pytest.param("Finds images.", ["find Finds images.", "find"], id="one sentence is the whole"),
        pytest.param("", ["find"], id="no description"),
        pytest.param("find", ["find find", "find"], id="the description is the name"),
        pytest.param(
            "Finds images. Yes! Then it sorts them.",
            ["find Finds images. Yes! Then it sorts them.", "find", "Finds images.", "Then it sorts them."],
            id="a piece too short to mean anything is left out",
        ),
        pytest.param(
            "Finds images\n• by their colour • by their size",
            [
                "find Finds images\n• by their colour • by their size",
                "find",
                "Finds images",
                "by their colour",
                "by their size",
            ],
            id="a list",
        ),
        pytest.param(
            "Finds images - those without a licence; sorts them",
            [
                "find Finds images - those without a licence; sorts them",
                "find",
                "Finds images",
                "those without a licence",
                "sorts them",
            ],
            id="dash and semicolon",
        ),
        pytest.param(
            "查找网站上的免费图片。按颜色和大小进行排序！",
            [
                "find 查找网站上的免费图片。按颜色和大小进行排序！",
                "find",
                "查找网站上的免费图片",
                "按颜色和大小进行排序",
            ],
            id="Chinese",
        ),
        pytest.param(
            "Finds images. Finds images.",
            ["find Finds images. Finds images.", "find", "Finds images."],
            id="each passage once",
        ),
    ],
)
def test_a_description_falls_into_sentences(description: str, expected: list[str]) -> None:
    assert text_passages("find", description) == expected


def test_a_chatty_tool_has_a_bounded_number_of_passages() -> None:
    description = " ".join(f"This is sentence number {number}." for number in range(50))
    found = text_passages("chat", description, ("say much",), ("text what to say",))
    sentences = [f"This is sentence number {number}." for number in range(4)]
    assert found[1:] == ["say much", "chat", "chat text what to say", *sentences]
    assert len(found) == MAX_PASSAGES


def test_all_phrases_are_kept_however_many() -> None:
    phrases = tuple(f"phrase number {number}" for number in range(20))
    assert text_passages("chat", "Says it. Says it again.", phrases) == [
        "chat Says it. Says it again.",
        *phrases,
        "chat",
    ]


@pytest.mark.parametrize(
    "letters", ["a", "word ", " ", "\n", "天。", "x - "], ids=["a", "words", "spaces", "lines", "CJK", "dashes"]
)
def test_a_description_of_100_kilobytes_is_cut(letters: str) -> None:
    found = text_passages("long", letters * 50_000, parameters=("p " * 50_000,))
    assert len(found) <= MAX_PASSAGES
    assert max(map(len, found)) <= 2 * WHOLE_CHARACTERS
    assert len(found[0]) <= WHOLE_CHARACTERS


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({}, (), id="no schema"),
        pytest.param({"type": "object"}, (), id="no properties"),
        pytest.param({"properties": ["a"]}, (), id="properties that are none"),
        pytest.param({"properties": {}}, (), id="empty"),
        pytest.param(
            {"properties": {"city": {"description": "Where"}, "unit": {"type": "string"}}},
            ("city Where", "unit"),
            id="with and without a description",
        ),
        pytest.param({"properties": {"anything": True}}, ("anything",), id="a schema that is true"),
        pytest.param({"properties": {"odd": {"description": 5}}}, ("odd",), id="a description that is no text"),
    ],
)
def test_a_parameter_is_its_name_and_description(schema: Mapping[str, Any], expected: tuple[str, ...]) -> None:
    assert parameter_texts(schema) == expected
