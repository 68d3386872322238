"""The loader gives every arm the same safe, unique, complete tools, and the same queries at every call."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.damage import damaged
from benchmarks.data import Query, json_schema, load, readable, safe
from toolcrib.tools.tool import SAFE_NAME

LONG = "Mobile Phone Specs Database: Get {Specifications} by {Brand Name} and {Model Name}"


def write_set(folder: Path, tools: list[dict[str, Any]], queries: list[dict[str, Any]]) -> None:
    place = folder / "tiny"
    place.mkdir()
    for name, rows in (("tools", tools), ("queries", queries)):
        (place / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def test_tools_get_safe_unique_names_and_labels_follow_them(tmp_path: Path) -> None:
    tools = [
        {"id": "linux/am", "name": "am", "description": "Run a job."},
        {"id": "android/am", "name": "am", "description": "Manage activities.", "category": "android"},
        {"id": "7z", "name": "7z", "description": ""},
    ]
    queries = [
        {"id": "q1", "text": "start an app", "lang": "en", "relevant": ["android/am"]},
        {"id": "q2", "text": "learn from me", "lang": "en", "relevant": ["7z"], "split": "train"},
    ]
    write_set(tmp_path, tools, queries)

    tiny = load("tiny", folder=tmp_path)

    assert [tool.name for tool in tiny.tools] == ["am", "am_2", "_7z"]
    assert tiny.names == {"linux/am": "am", "android/am": "am_2", "7z": "_7z"}
    assert tiny.queries == (Query(id="q1", text="start an app", language="en", relevant=frozenset({"am_2"})),)
    assert load("tiny", split="train", folder=tmp_path).queries[0].relevant == {"_7z"}


def test_what_a_safe_name_loses_opens_the_description(tmp_path: Path) -> None:
    tools = [
        {"id": "1", "name": LONG, "description": "Look up a phone."},
        {"id": "2", "name": "get.page v2", "description": "Get a page."},
    ]
    write_set(tmp_path, tools, [])

    long, short = load("tiny", folder=tmp_path).tools

    assert long.name == "Mobile_Phone_Specs_Database_Get_Specifications_by_Brand_Name_and"
    assert long.description == f"{LONG}. Look up a phone."
    assert (short.name, short.description) == ("get_page_v2", "Get a page.")


def test_a_large_split_is_sampled_in_turn_from_each_language_and_always_the_same(tmp_path: Path) -> None:
    languages = ["en"] * 50 + ["pl"] * 3
    queries = [
        {"id": str(number), "text": f"request {number}", "lang": language, "relevant": ["a"]}
        for number, language in enumerate(languages)
    ]
    write_set(tmp_path, [{"id": "a", "name": "a", "description": "A."}], queries)

    once, again = load("tiny", limit=8, folder=tmp_path), load("tiny", limit=8, folder=tmp_path)

    assert [query.language for query in once.queries] == ["en", "pl", "en", "pl", "en", "pl", "en", "en"]
    assert once.queries == again.queries


@pytest.mark.parametrize(
    ("given", "properties"),
    [
        (None, {}),
        ([], {}),
        (["resource-group"], {"resource-group": {}}),
        (
            [{"name": "q", "type": "str", "description": "What to find"}],
            {"q": {"type": "string", "description": "What to find"}},
        ),
        (
            {"type": "dict", "properties": {"at": {"type": "dict", "properties": {"x": {"type": "float"}}}}},
            {"at": {"type": "object", "properties": {"x": {"type": "number"}}}},
        ),
        ({"type": "object", "properties": {"any": {"type": "any"}}}, {"any": {}}),
    ],
)
def test_parameters_of_any_form_become_a_json_schema(given: object, properties: dict[str, Any]) -> None:
    assert json_schema(given) == {"type": "object", "properties": properties}


@pytest.mark.parametrize("name", ["a" * 100, "长亭", "👋 Onboarding", "", "1st.tool", "a b" * 40, "-x"])
def test_every_name_becomes_one_that_providers_accept(name: str) -> None:
    assert SAFE_NAME.fullmatch(safe(name))


def test_names_are_readable() -> None:
    assert readable("cms_getPageByURL-v2") == "cms get Page By URL v2"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("as written", "Znajdź zdjęcie w łące"),
        ("no diacritics", "Znajdz zdjecie w lace"),
        ("ALL CAPS", "ZNAJDŹ ZDJĘCIE W ŁĄCE"),
        ("half in English", "Znajdź zdjęcie in the meadow"),
    ],
)
def test_requests_are_damaged_by_rule(kind: str, text: str) -> None:
    query = Query(
        id="q",
        text="Znajdź zdjęcie w łące",
        english="Find pictures in the meadow",
        language="pl",
        relevant=frozenset("a"),
    )

    assert damaged(query, kind).text == text


def test_typos_change_letters_but_neither_words_nor_short_ones() -> None:
    query = Query(id="q", text="search pictures of green leaves", relevant=frozenset("a"))

    spoiled = damaged(query, "typos").text

    assert spoiled != query.text
    assert spoiled == damaged(query, "typos").text
    assert len(spoiled.split()) == 5
    assert spoiled.split()[2] == "of"
