"""Arguments that are nearly right become right; those that are not come back with the schema to read."""

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, strategies as st
from inline_snapshot import snapshot
from pydantic import BaseModel, BeforeValidator

from tests.support.recorded_tools import make, takes
from toolcrib.discovery.arguments import Repaired, SchemaChecker, repair_arguments
from toolcrib.discovery.tokens import count_tokens
from toolcrib.tools.function import tool
from toolcrib.tools.tool import Tool

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "draft": {"type": "boolean"},
        "kind": {"enum": ["Photo", "Drawing"]},
        "size": {"enum": [1, 2]},
        "fixed": {"const": "Yes"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "filter": {"$ref": "#/$defs/Filter"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "mixed": {"type": ["integer", "null"]},
        "text": {"type": "string"},
        "twins": {"enum": ["a", "A"]},
        "anything": {},
    },
    "additionalProperties": False,
    "$defs": {
        "Filter": {
            "type": "object",
            "properties": {"limit": {"type": "integer"}, "inner": {"$ref": "#/$defs/Filter"}},
            "required": ["limit"],
        }
    },
}
FOREIGN = make("search", parameters=SCHEMA)
SMALL = make(
    "draw",
    parameters={
        **takes(count={"type": "integer"}, kind={"enum": ["Photo", "Drawing"]}, at={"$ref": "#/$defs/Point"}),
        "$defs": {"Point": {"properties": {"x": {"type": "number"}}, "required": ["x"]}},
    },
)


class Kind(Enum):
    PHOTO = "Photo"
    DRAWING = "Drawing"


class Filter(BaseModel):
    limit: int
    inner: "Filter | None" = None


@tool(name="search")
def OURS(
    count: int = 0,
    price: float = 0,
    draft: bool = False,
    kind: Kind = Kind.PHOTO,
    size: Literal[1, 2] = 1,
    fixed: Literal["Yes"] = "Yes",
    tags: list[str] = [],  # noqa: B006 - never changed
    numbers: list[int] = [],  # noqa: B006
    filter: Filter | None = None,
    either: int | None = None,
    mixed: int | None = None,
    text: str = "",
    twins: Literal["a", "A"] = "a",
    anything: Any = None,
) -> str:
    """Search."""
    return ""


REPAIRS: list[tuple[str, object, dict[str, Any]]] = [
    ("nothing", None, {}),
    ("an empty text", "", {}),
    ("JSON in a text", '{"count": 5}', {"count": 5}),
    ("wrapped", {"arguments": {"count": 5}}, {"count": 5}),
    ("wrapped as JSON in a text", {"arguments": '{"count": 5}'}, {"count": 5}),
    ("wrapped twice", {"params": {"args": {"count": 5}}}, {"count": 5}),
    ("wrapped with the name", {"name": "search", "arguments": {"count": 5}}, {"count": 5}),
    ("wrapped nothing", {"arguments": {}}, {}),
    ("quoted choice number", {"size": "2"}, {"size": 2}),
    ("case of a choice", {"kind": "photo"}, {"kind": "Photo"}),
    ("space around a choice", {"kind": " Drawing "}, {"kind": "Drawing"}),
    ("case of the only choice", {"fixed": "YES"}, {"fixed": "Yes"}),
    ("one for a list", {"tags": "sea"}, {"tags": ["sea"]}),
    ("list in a text", {"tags": '["sea", "sky"]'}, {"tags": ["sea", "sky"]}),
    ("one quoted number for a list", {"numbers": "5"}, {"numbers": [5]}),
    ("object in a text", {"filter": '{"limit": "5"}'}, {"filter": {"limit": 5}}),
    ("null in a text", {"either": "null"}, {"either": None}),
    ("number for a text", {"text": 5}, {"text": "5"}),
    ("null for what may be left out", {"count": None, "text": "x"}, {"text": "x"}),
]
QUOTED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("quoted number", {"count": " 5 "}, {"count": 5}),
    ("quoted whole number with zeros", {"count": "5.0"}, {"count": 5}),
    ("quoted fraction", {"price": "2.50"}, {"price": 2.5}),
    ("quoted whole price", {"price": "-2"}, {"price": -2}),
    ("quoted truth", {"draft": "TRUE"}, {"draft": True}),
    ("quoted numbers in a list", {"numbers": ["5", 6]}, {"numbers": [5, 6]}),
    ("deep inside", {"filter": {"limit": 1, "inner": {"limit": "2"}}}, {"filter": {"limit": 1, "inner": {"limit": 2}}}),
    ("quoted number or null", {"either": "5", "mixed": "6"}, {"either": 5, "mixed": 6}),
]


@pytest.mark.parametrize("which", [FOREIGN, OURS], ids=["raw schema", "function"])
@pytest.mark.parametrize(("given_", "wanted"), [case[1:] for case in REPAIRS], ids=[case[0] for case in REPAIRS])
def test_a_near_miss_is_repaired(which: Tool, given_: object, wanted: dict[str, Any]) -> None:
    assert repair_arguments(which, given_) == Repaired(wanted)


@pytest.mark.parametrize(("given_", "wanted"), [case[1:] for case in QUOTED], ids=[case[0] for case in QUOTED])
def test_what_a_function_reads_by_itself_is_repaired_for_others(given_: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert repair_arguments(FOREIGN, given_) == Repaired(wanted)
    assert repair_arguments(OURS, given_) == Repaired(given_)  # pydantic reads it, so nothing is touched


@pytest.mark.parametrize(
    "arguments",
    [
        {"count": "five"},
        {"count": "1_000"},
        {"count": "9" * 5_000},
        {"count": [5]},
        {"count": True},
        {"price": "nan"},
        {"price": "1e999"},
        {"draft": "yes"},
        {"kind": "Painting"},
        {"twins": "Á"},
        {"tags": None, "filter": {}},
        {"text": True},
        {"filter": "[" * 100_000},
        {"filter": "{broken"},
        {"unheard": 1},
        {"arguments": {"unheard": 1}},
        {"arguments": 5},
        {"name": "other", "arguments": {"count": 5}},
    ],
    ids=lambda arguments: str(arguments)[:40],
)
def test_what_has_no_plain_reading_is_refused(arguments: dict[str, Any]) -> None:
    assert isinstance(repair_arguments(FOREIGN, arguments), str)


def test_two_choices_that_differ_by_case_alone_are_not_guessed_between() -> None:
    assert isinstance(repair_arguments(make("x", parameters=takes(one={"enum": ["aB", "Ab"]})), {"one": "AB"}), str)


def test_a_tool_that_wants_a_wrapper_gets_it() -> None:
    wants = make("run", parameters=takes(arguments={"type": "object"}))
    assert repair_arguments(wants, {"arguments": {"arguments": 1}}) == Repaired({"arguments": {"arguments": 1}})


def test_a_validator_of_the_tools_own_has_the_first_say() -> None:
    @tool
    def tag(names: Annotated[list[str], BeforeValidator(lambda text: text.split(","))]) -> str:
        """Tag."""
        return ""

    assert repair_arguments(tag, {"names": "a,b"}) == Repaired({"names": "a,b"})  # not ["a,b"]


def test_a_validator_that_breaks_is_left_to_the_call() -> None:
    def explode(value: object) -> object:
        raise RuntimeError("broken")

    @tool
    def tag(name: Annotated[str, BeforeValidator(explode)]) -> str:
        """Tag."""
        return ""

    assert repair_arguments(tag, {"name": "a"}) == Repaired({"name": "a"})


@pytest.mark.parametrize(
    ("which", "arguments", "refusal"),
    [
        pytest.param(
            FOREIGN,
            [1, 2],
            snapshot(
                (
                    """\
search was not called, because its arguments are not a JSON object (got [1, 2]).
Call it again with an object, such as {"name": "value"}.\
""",
                    37,
                )
            ),
            id="no object",
        ),
        pytest.param(
            SMALL,
            {"count": "many", "kind": "Painting", "zzz": 3},
            snapshot(
                (
                    """\
draw was not called, because its arguments are wrong:
- at: is required, but missing
- count: should be an integer (got 'many')
- kind: should be one of "Photo", "Drawing" (got 'Painting')
- zzz: there is no such argument. It takes: count, kind, at.
Expected:
- at: {"$ref":"#/$defs/Point","$defs":{"Point":{"properties":{"x":{"type":"number"}},"required":["x"]}}}
- count: {"type":"integer"}
- kind: {"enum":["Photo","Drawing"]}
Correct the arguments and call it again.\
""",
                    130,
                )
            ),
            id="several",
        ),
        pytest.param(
            SMALL,
            {"count": 1, "at": {"x": "left"}},
            snapshot(
                (
                    """\
draw was not called, because its arguments are wrong:
- kind: is required, but missing
- at.x: should be a number (got 'left')
Expected:
- kind: {"enum":["Photo","Drawing"]}
- at: {"$ref":"#/$defs/Point","$defs":{"Point":{"properties":{"x":{"type":"number"}},"required":["x"]}}}
Correct the arguments and call it again.\
""",
                    86,
                )
            ),
            id="inside",
        ),
        pytest.param(
            FOREIGN,
            {"either": "x", "mixed": "y", "tags": [1.5]},
            snapshot(
                (
                    """\
search was not called, because its arguments are wrong:
- either: should be an integer (got 'x')
- mixed: should be an integer or null (got 'y')
- tags.0: should be a string (got 1.5)
Expected:
- either: {"anyOf":[{"type":"integer"},{"type":"null"}]}
- mixed: {"type":["integer","null"]}
- tags: {"type":"array","items":{"type":"string"}}
Correct the arguments and call it again.\
""",
                    105,
                )
            ),
            id="forms",
        ),
        pytest.param(
            OURS,
            {"count": "many"},
            snapshot(
                (
                    """\
search was not called, because its arguments are wrong:
- count: Input should be a valid integer, unable to parse string as an integer (got 'many')
Expected:
- count: {"default":0,"type":"integer"}
Correct the arguments and call it again.\
""",
                    55,
                )
            ),
            id="function",
        ),
    ],
)
def test_a_refusal_carries_the_schema(which: Tool, arguments: object, refusal: object) -> None:
    text = repair_arguments(which, arguments)
    assert isinstance(text, str)
    assert (text, count_tokens(text)) == refusal


def test_several_forms_that_all_fail_are_one_complaint() -> None:
    wants = make("x", parameters=takes(at={"oneOf": [{"type": "integer"}, {"type": "object"}]}))
    assert "- at: fits none of the forms it may have (got 'soon')" in str(repair_arguments(wants, {"at": "soon"}))


def test_a_whole_schema_that_fails_says_so() -> None:
    wants = make("x", parameters={"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
    assert "- all of them: fits none of the forms it may have (got {})" in str(repair_arguments(wants, {}))
    assert repair_arguments(wants, {"b": 1}) == Repaired({"b": 1})


def test_every_part_of_a_joint_schema_counts() -> None:
    wants = make("x", parameters={"allOf": [{"required": ["a"]}, {"required": ["b"]}]})
    assert str(repair_arguments(wants, {"a": 1})).count("is required, but missing") == 1


@pytest.mark.parametrize(
    "parameters",
    [
        {"properties": []},
        {"properties": {"a": True}},
        {"properties": {"a": {"type": "file"}}, "required": "a"},
        {"properties": {"a": {"$ref": "#/$defs/Missing"}}, "$defs": []},
        {"properties": {"a": {"$ref": "https://example.com/schema"}}},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"properties": {"a": {"enum": "abc"}}, "additionalProperties": {"type": "string"}},
        {"patternProperties": {"^x": {}}, "additionalProperties": False},
    ],
    ids=str,
)
def test_a_schema_that_says_nothing_we_read_refuses_nothing(parameters: dict[str, Any]) -> None:
    given_ = {"a": [1], "b": {"c": None}}
    assert repair_arguments(make("x", parameters={"properties": {}, **parameters}), given_) == Repaired(given_)


def test_a_schema_that_branches_without_end_is_given_up_on_in_time() -> None:
    node = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/N"}} for _ in range(4)]}
    wants = make("x", parameters={**takes(tree={"$ref": "#/$defs/N"}), "$defs": {"N": node}})
    tree: list[Any] = ["leaf"]
    for _ in range(50):
        tree = [tree]
    assert repair_arguments(wants, {"tree": tree}) == Repaired({"tree": tree})


def test_values_deeper_than_any_schema_are_let_through() -> None:
    deep: dict[str, Any] = {"limit": 1}
    for _ in range(200):
        deep = {"limit": 1, "inner": deep}
    assert repair_arguments(FOREIGN, {"filter": deep}) == Repaired({"filter": deep})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["limit", "inner", "x"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), VALUES, max_size=4))
def test_a_repair_fits_or_is_refused_and_needs_no_second_one(arguments: dict[str, Any]) -> None:
    reading = SchemaChecker(SCHEMA)
    outcome = repair_arguments(FOREIGN, arguments)
    if isinstance(outcome, Repaired):
        assert reading.complaints(outcome.arguments, SCHEMA) == []
        assert repair_arguments(FOREIGN, outcome.arguments) == outcome
    if not reading.complaints(arguments, SCHEMA):
        assert outcome == Repaired(arguments)
