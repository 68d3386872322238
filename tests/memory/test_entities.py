"""Entities come from results by what each tool says, and a wrong word of a tool never breaks a run."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.calls import always
from toolcrib.memory.entities import MOST_FROM_ONE_RESULT, MOST_ID_CHARACTERS, Found, Reading, find_entities
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Entity, Extraction, Extractor, Tool

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PAGES = Extraction(path="pages", type="page", name_field="title", is_array=True)
HOME = Entity(type="page", id="1", name="Home", seen_at=NOON)


def tool_with(extraction: Extractor | None) -> Tool:
    @tool(name="list_pages", extraction=extraction)
    def list_pages() -> str:
        """List the pages."""
        return ""

    return list_pages


def found(extraction: Extractor | None, value: object) -> Found:
    return find_entities(tool_with(extraction), ToolResult.of(value), at=NOON)


def test_a_schema_says_where_entities_are() -> None:
    assert found(PAGES, {"pages": [{"id": 1, "title": "Home"}]}) == Found(reading=Reading.READ, entities=(HOME,))


def test_a_function_may_say_it_too() -> None:
    def either(result: Any) -> list[Entity]:
        return [Entity(type=result["kind"], id="1", name="Home")]

    assert found(either, {"kind": "page"}) == Found(reading=Reading.READ, entities=(HOME,))


def test_one_result_gives_five_at_most_each_once() -> None:
    rows = [{"id": number // 2, "title": "t"} for number in range(40)]
    got = found(PAGES, {"pages": rows}).entities
    assert [entity.id for entity in got] == ["0", "1", "2", "3", "4"]
    assert len(got) == MOST_FROM_ONE_RESULT


@pytest.mark.parametrize("id", ["", "x" * (MOST_ID_CHARACTERS + 1), "half \ud83d"], ids=["empty", "long", "not text"])
def test_an_id_that_no_model_could_repeat_is_passed_over(id: str) -> None:
    rows = [{"id": id, "title": "no"}, {"id": 1, "title": "Home"}]
    assert found(PAGES, {"pages": rows}).entities == (HOME,)


def test_names_are_cleaned_and_cut() -> None:
    [entity] = found(PAGES, {"pages": [{"id": 1, "title": "a\nb\u200b\x00" + "c" * 1_000}]}).entities
    assert entity.name.startswith("a bccc")
    assert (len(entity.name), entity.name[-1]) == (200, "…")


def test_a_name_of_nothing_visible_gives_way_to_the_id() -> None:
    assert found(PAGES, {"pages": [{"id": 7, "title": "\u200b\u202e"}]}).entities[0].name == "7"


@pytest.mark.parametrize(
    ("extraction", "value", "reading", "processed"),
    [
        pytest.param(None, {"pages": []}, Reading.SKIPPED, None, id="no extraction"),
        pytest.param(PAGES, {"pages": []}, Reading.READ, True, id="an empty list"),
        pytest.param(PAGES, {"items": []}, Reading.MISSED, False, id="another path"),
        pytest.param(PAGES, {"pages": "none"}, Reading.MISSED, False, id="another type"),
        pytest.param(PAGES, {"pages": [{"slug": "home"}]}, Reading.MISSED, False, id="no ids"),
        pytest.param(Extraction(path="page", type="page", name_field="t"), {}, Reading.MISSED, False, id="no object"),
    ],
)
def test_a_reading_tells_how_it_went(
    extraction: Extractor | None, value: object, reading: Reading, processed: bool | None
) -> None:
    assert found(extraction, value) == Found(reading=reading)
    assert reading.processed is processed


def test_rows_of_a_custom_extractor_are_entities_and_bad_rows_lose_no_good_ones() -> None:
    rows: list[Any] = [{"id": 1, "name": "Home", "type": "Page"}, {"id": 2}, {"name": "x"}, "x", None]
    rows.append({"id": "3", "name": "Logo"})
    read = found(always(rows), {})
    assert [(one.type, one.id, one.name) for one in read.entities] == [("page", "1", "Home"), ("resource", "3", "Logo")]
    assert read.reading is Reading.READ


def raises(result: Any) -> list[Entity]:
    raise KeyError("matches")


@pytest.mark.parametrize(
    "extraction",
    [raises, always(None), always("page"), always([["p1", "Home"]]), always(5)],
    ids=["raises", "none", "text", "lists", "number"],
)
def test_a_broken_extraction_is_logged_with_the_tools_name(
    extraction: Callable[[Any], Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert found(extraction, {}) == Found(reading=Reading.FAILED)
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, "The extraction of list_pages failed; its result was not read.")
    ]


def test_a_result_of_another_shape_is_logged_with_the_tools_name(caplog: pytest.LogCaptureFixture) -> None:
    found(PAGES, {"items": []})
    assert caplog.messages == ["The result of list_pages does not look as its extraction says; nothing was read."]


def test_entities_that_are_not_text_inside_are_read_as_text() -> None:
    wrong: dict[str, Any] = {"type": None, "id": 5, "name": None}
    without_id: dict[str, Any] = {**wrong, "id": None}
    read = found(lambda _: [HOME, Entity(**wrong), Entity(**without_id)], {})
    assert [(one.type, one.id, one.name) for one in read.entities] == [("page", "1", "Home"), ("resource", "5", "5")]
