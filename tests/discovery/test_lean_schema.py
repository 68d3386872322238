"""Definitions without words that go without saying; what calls repeat stays exact."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.native import compact_schema, schema
from toolcrib.discovery.toolbox import Toolbox


class Place(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str
    size: Annotated[str, Field(min_length=1)] | None = None


def test_a_definition_made_from_types_gets_shorter() -> None:
    catalog = Catalog()

    @catalog.tool
    def add(
        place: Place,
        name: Annotated[str, Field(min_length=1, description="Its name")],
        kind: Annotated[Literal["a", "b"], Field(description="Which")] | None = None,
        size: int | str | None = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 5,
    ) -> str:
        """Add something."""
        return f"{place} {name} {kind} {size} {limit}"

    assert schema(catalog.get("add").parameters) == {
        "type": "object",
        "properties": {
            "place": {"$ref": "#/$defs/Place"},
            "name": {"description": "Its name", "type": "string"},
            "kind": {"description": "Which", "enum": ["a", "b"], "type": "string"},
            "size": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "limit": {"default": 5, "maximum": 50, "minimum": 1, "type": "integer"},
        },
        "$defs": {
            "Place": {
                "properties": {"title": {"type": "string"}, "size": {"type": "string"}},
                "required": ["title"],
                "type": "object",
            }
        },
        "required": ["place", "name"],
    }


async def test_what_is_not_said_is_checked_all_the_same() -> None:
    catalog = Catalog()

    @catalog.tool
    def rename(name: Annotated[str, Field(min_length=1)], note: str | None = None) -> str:
        return f"{name}, {note}"

    toolbox = Toolbox(catalog)
    assert (await toolbox.call("rename", {"name": "a", "note": None})).text == "a, None"
    assert (await toolbox.call("rename", {"name": ""})).failed
    assert (await toolbox.call("rename", {"name": "a", "more": 1})).failed


@pytest.mark.parametrize(
    "same",
    [
        {"type": "object", "additionalProperties": True, "properties": {}},
        {"properties": {"title": {"type": "string"}, "minLength": {"type": "integer"}}},
        {"properties": {"a": {"enum": [{"title": "x"}, None], "default": None}}},
        {"properties": {"a": {"const": {"additionalProperties": False}, "examples": [{"title": "x"}]}}},
        {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["a"]},
        {"properties": {"a": {"type": ["string", "null"]}}},
        {"properties": {"a": {"type": "null", "default": None}}},
        {"properties": {"a": {"type": ["null"], "default": None}}},
        {"properties": {"a": {"type": "string", "minLength": 3}}},
        {"properties": {"a": {"anyOf": [{"type": "string"}], "default": None}}},
        {"properties": True},
    ],
    ids=str,
)
def test_what_says_something_stays(same: dict[str, Any]) -> None:
    assert compact_schema(same) == same


def test_null_among_the_types_goes_where_leaving_out_means_the_same() -> None:
    one, two = {"type": ["string", "null"], "default": None}, {"type": ["string", "number", "null"], "default": None}
    said = {"properties": {"a": one, "b": two}}
    assert compact_schema(said) == {"properties": {"a": {"type": "string"}, "b": {"type": ["string", "number"]}}}
