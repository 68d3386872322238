"""A tool says where its result holds entities."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from toolcrib.tools.tool import Entity, Extraction

SEEN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Page:
    id: int
    title: str


def found(extraction: Extraction, result: object) -> list[tuple[str, str, str]]:
    return [(entity.type, entity.id, entity.name) for entity in extraction(result)]


@pytest.mark.parametrize(
    ("path", "is_array", "result"),
    [
        pytest.param("$root", False, {"id": 1, "title": "Home"}, id="the root"),
        pytest.param("$root", True, [{"id": 1, "title": "Home"}], id="a list at the root"),
        pytest.param("data.page", False, {"data": {"page": {"id": 1, "title": "Home"}}}, id="a dotted path"),
        pytest.param("data.pages", True, {"data": {"pages": ({"id": 1, "title": "Home"},)}}, id="a list further in"),
        pytest.param("$root", False, Page(1, "Home"), id="an object"),
        pytest.param("$root", True, [{"title": "no id"}, None, 5, Page(1, "Home")], id="items without id passed over"),
    ],
)
def test_entities_are_found_where_the_path_says(path: str, is_array: bool, result: Any) -> None:
    extraction = Extraction(path=path, type="page", name_field="title", is_array=is_array)
    assert found(extraction, result) == [("page", "1", "Home")]


@pytest.mark.parametrize("result", [None, "text", 5, [], {}, {"pages": None}, {"pages": "text"}, {"pages": {"id": 1}}])
def test_a_result_of_another_shape_holds_no_entities(result: Any) -> None:
    assert found(Extraction(path="pages", type="page", name_field="title", is_array=True), result) == []


def test_an_entity_without_a_name_is_called_by_its_id() -> None:
    extraction = Extraction(path="$root", type="image", name_field="meta.alt", id_field="meta.key")
    assert found(extraction, {"meta": {"key": "k7"}}) == [("image", "k7", "k7")]


def test_an_entity_knows_when_it_was_seen() -> None:
    assert Entity(type="page", id="1", name="Home").seen_at > SEEN
