"""A tool is one frozen value; what it cannot be made of is refused when it is made."""

from typing import Any, cast

import pytest

from toolcrib.errors import CatalogError, ToolDefinitionError
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Protocol, Risk, Tool


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def make_tool(**fields: Any) -> Tool:
    given: dict[str, Any] = {"name": "find", "description": "Find it.", "call": call, **fields}
    return Tool(**given)


def circular() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"child": schema}
    return schema


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {"items": schema}
    return schema


def test_lists_and_plain_words_are_kept_as_tuples_and_members() -> None:
    made = make_tool(phrases=["find it"], related=iter(["show"]), risk="moderate")
    assert made == make_tool(phrases=("find it",), related=("show",), risk=Risk.MODERATE)


def field_named(value: object) -> str:
    return str(next(iter(cast("dict[str, Any]", value)))) if isinstance(value, dict) else ""


@pytest.mark.parametrize(
    ("fields", "message", "hint"),
    [
        ({"description": None}, "The description of 'find' is None, not a str.", "Give a str."),
        ({"category": 5}, "The category of 'find' is 5, not a str.", "Give a str."),
        ({"confirm": "yes"}, "The confirm of 'find' is 'yes', not a bool.", "Give a bool."),
        ({"call": "find"}, "The call of 'find' is 'find', not a function.", "Give a function."),
        ({"extraction": 5}, "The extraction of 'find' is 5, not a function.", "Give a function."),
        ({"protocol": 5}, "The protocol of 'find' is 5, not a Protocol.", "Give a Protocol."),
        (
            {"phrases": "find it"},
            "The phrases of 'find' are 'find it', not a list of texts.",
            'Write phrases=["one", "another"].',
        ),
        (
            {"related": [1]},
            "The related of 'find' are [1], not a list of texts.",
            'Write related=["one", "another"].',
        ),
        (
            {"risk": "destructiv"},
            "The risk of 'find' is 'destructiv'; it can be safe, moderate, destructive.",
            "Did you mean 'destructive'?",
        ),
        (
            {"parameters": [1]},
            "The parameters of 'find' are [1], not a JSON Schema.",
            'Give a mapping, such as {"type": "object", "properties": {}}.',
        ),
        (
            {"parameters": {"type": "array"}},
            "The parameters of 'find' have the type 'array'; models call tools with an object.",
            'Put the value into a property of {"type": "object"}.',
        ),
        (
            {"parameters": {"default": object}},
            "The parameters of 'find' are not JSON: Object of type type is not JSON serializable.",
            "Use only dicts with text keys, lists, text, finite numbers, booleans and None.",
        ),
        (
            {"parameters": {"description": "x" * 300_000}},
            "The schema of 'find' is too large: 300,019 characters, at most 262,144.",
            "Split the tool, or take the large part as text and check it in the tool.",
        ),
        *(
            (
                {"parameters": schema},
                "The schema of 'find' contains itself, or is nested too deeply to be written.",
                'Name the repeated part in "$defs" and point to it with {"$ref": "#/$defs/Name"}.',
            )
            for schema in (circular(), deep(101), deep(5_000), deep(500_000))
        ),
    ],
    ids=field_named,
)
def test_wrong_fields_are_refused_with_a_hint(fields: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        make_tool(**fields)
    assert (str(caught.value), caught.value.hint) == (message, hint)


def test_a_schema_of_many_levels_is_taken() -> None:
    wide = {"anyOf": [{"type": "string"}] * 200}
    assert make_tool(parameters=deep(100)).parameters == deep(100)
    assert make_tool(parameters=wide).parameters == wide


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("cms.search", "cms_search"),
        ("find it", "find_it"),
        ("a" * 200, "a" * 64),
        ("5", "tool_5"),
        ("", "tool"),
        (5, "tool_5"),
    ],
)
def test_an_unsafe_name_is_refused_with_a_safe_one(name: Any, suggestion: str) -> None:
    with pytest.raises(CatalogError) as caught:
        make_tool(name=name)
    assert str(caught.value) == f"{str(name)[:80]!r} is not a name that model providers accept."
    assert caught.value.hint == f"Use letters, digits, '_' and '-', at most 64, such as {suggestion!r}."


def test_a_schema_that_points_to_its_own_definitions_is_fine() -> None:
    schema = {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}}},
    }
    assert make_tool(parameters=schema).parameters == schema


def test_with_metadata_leaves_the_original_alone() -> None:
    protocol = Protocol(before="Ask.")
    plain = make_tool()
    assert plain.with_metadata(protocol=protocol) == make_tool(protocol=protocol)
    assert plain == make_tool()


def test_a_protocol_renders_as_four_lines_and_leaves_out_what_is_empty() -> None:
    assert Protocol(before="Ask.", after="Show.", next="Place it.", gotcha="Slow.").render() == (
        "BEFORE: Ask.\nAFTER: Show.\nNEXT: Place it.\nGOTCHA: Slow."
    )
    assert Protocol(gotcha="Slow.").render() == "GOTCHA: Slow."
    assert Protocol(gotcha="Slow.", notes="Ask twice.").render() == "GOTCHA: Slow.\nAsk twice."


def test_a_protocol_can_be_written_as_one_text() -> None:
    text = "Handle with care.\nBEFORE: None\nAFTER: Show it,\nall of it.\nGOTCHA: Slow.\nGOTCHA: Dear."
    read = Protocol(notes="Handle with care.", after="Show it,\nall of it.", gotcha="Slow. Dear.")
    assert Protocol.from_text(text) == read
    assert make_tool(protocol=text) == make_tool(protocol=read)
    assert Protocol.from_text("Only a remark: before you ask.") == Protocol(notes="Only a remark: before you ask.")
