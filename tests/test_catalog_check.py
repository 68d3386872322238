"""`check` tells everything that is wrong with a catalog at once."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.check import Problem, Spellings
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Extraction, Risk, Tool

SCHEMA = Extraction(path="$root", type="page", name_field="title")


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def make_tool(name: str, description: str = "Do it.", **fields: Any) -> Tool:
    return Tool(name=name, description=description, call=call, **fields)


def extract(result: object) -> list[Any]:
    return []


def found(catalog: Catalog) -> list[tuple[str, str]]:
    return [(problem.tool, problem.rule) for problem in catalog.check()]


def test_a_good_catalog_has_no_problems() -> None:
    a = make_tool("a", "Add a page. It is not shown yet.", category="pages", phrases=["new page"], related=["b"])
    b = make_tool("b", category="images", risk=Risk.DESTRUCTIVE, confirm=True, extraction=SCHEMA)
    assert Catalog([a, b]).check() == []


def test_all_problems_come_at_once_each_with_tool_rule_and_hint(tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text("list_pages: {category: pages}\nlist_page: {}\nadd.page: {}\n")
    catalog = Catalog([make_tool("list_pages", "", related=["list_pagse", "nothing_like_it"])])
    catalog.load_metadata(file)
    catalog.add(make_tool("drop_page", "One. Two. Three.", risk="destructive", category="pagse", extraction=extract))
    catalog.extractor("Drop_pages")(extract)

    assert catalog.check() == [
        Problem(
            tool="drop_page",
            rule="missing-metadata",
            message="No metadata file speaks of this tool.",
            hint="Add an entry for it.",
        ),
        Problem(
            tool="list_page",
            rule="orphan-metadata",
            message=f"{file}:2 speaks of a tool that does not exist.",
            hint="Did you mean 'list_pages'?",
        ),
        Problem(
            tool="add.page",
            rule="orphan-metadata",
            message=f"{file}:3 speaks of a tool that does not exist.",
            hint="Add the tool, or remove the entry.",
        ),
        Problem(
            tool="Drop_pages",
            rule="orphan-extractor",
            message="There is a custom extractor for a tool that does not exist.",
            hint="Did you mean 'drop_page'?",
        ),
        Problem(
            tool="list_pages",
            rule="unknown-related",
            message="It is related to 'list_pagse', which does not exist.",
            hint="Did you mean 'list_pages'?",
        ),
        Problem(
            tool="list_pages",
            rule="unknown-related",
            message="It is related to 'nothing_like_it', which does not exist.",
            hint="Correct the name, or remove it from `related`.",
        ),
        Problem(
            tool="list_pages",
            rule="empty-description",
            message="It has no description, so it is hard to find.",
            hint="Say in one sentence what it does, in its docstring.",
        ),
        Problem(
            tool="drop_page",
            rule="long-description",
            message="Its description is too long: 3 sentences, at most 2.",
            hint="Keep what helps to find it; put how to use it into its protocol.",
        ),
        Problem(
            tool="add.page",
            rule="unsafe-name",
            message="Model providers do not accept this name, so no tool can have it.",
            hint="Use a name such as 'add_page'.",
        ),
        Problem(
            tool="drop_page",
            rule="unconfirmed-destructive",
            message="It is destructive, but runs without asking the user.",
            hint="Set `confirm` to true, or lower its risk.",
        ),
        Problem(
            tool="drop_page",
            rule="category-typo",
            message="Its category 'pagse' is one letter off 'pages'.",
            hint="Write 'pages', or choose names that are further apart.",
        ),
    ]


def test_a_metadata_entry_that_says_nothing_still_counts_as_metadata(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text("a: {}\n")
    catalog = Catalog([make_tool("a")])
    catalog.load_metadata(tmp_path / "tools.yaml")
    assert catalog.check() == []


def test_many_words_in_one_sentence_are_too_long() -> None:
    [problem] = Catalog([make_tool("a", "word " * 61)]).check()
    assert problem.message == "Its description is too long: 61 tokens (estimated), at most 60."


@pytest.mark.parametrize(
    ("in_code", "in_file", "by_decorator", "expected"),
    [
        pytest.param(SCHEMA, False, True, [("a", "two-extractions")], id="schema in code, registered extractor"),
        pytest.param(extract, True, False, [("a", "two-extractions")], id="extractor in code, schema in file"),
        pytest.param(None, True, True, [("a", "two-extractions")], id="schema in file, registered extractor"),
        pytest.param(SCHEMA, True, False, [], id="two schemas: the file wins"),
        pytest.param(extract, False, True, [], id="two extractors: the registered one wins"),
    ],
)
def test_a_schema_and_a_custom_extractor_do_not_go_together(
    tmp_path: Path, in_code: Any, in_file: bool, by_decorator: bool, expected: list[tuple[str, str]]
) -> None:
    catalog = Catalog([make_tool("a", extraction=in_code)])
    if in_file:
        (tmp_path / "tools.yaml").write_text("a: {extraction: {path: $root, type: page, name_field: title}}\n")
        catalog.load_metadata(tmp_path / "tools.yaml")
    if by_decorator:
        catalog.extractor("a")(extract)
    assert found(catalog) == expected


def test_a_phrase_shared_by_two_tools_is_reported_whatever_its_case() -> None:
    a = make_tool("a", phrases=["find image", "Find  Image"])
    b = make_tool("b", phrases=["FIND IMAGE"])
    assert Catalog([a, b]).check() == [
        Problem(
            tool="b",
            rule="shared-phrase",
            message="Its phrase 'FIND IMAGE' is also a phrase of 'a'.",
            hint="Give it to the tool that should be found with it.",
        )
    ]


def test_names_that_a_model_would_mix_up_are_reported() -> None:
    catalog = Catalog([make_tool("find_page"), make_tool("find-page"), make_tool("Find_Page"), make_tool("find_pages")])
    assert found(catalog) == [("find-page", "look-alike-name"), ("Find_Page", "look-alike-name")]


@pytest.mark.parametrize(
    ("categories", "slips"),
    [
        (["images", "images", "image"], ["image"]),
        (["imagse", "images", "images"], ["imagse"]),
        (["Images", "images"], ["images"]),
        (["pages", "pags", "pag", "pg"], ["pags", "pag"]),
        (["hr", "pr"], []),
        (["team1", "team2"], []),
        (["posts", "images", ""], []),
    ],
)
def test_the_less_used_of_two_categories_one_letter_apart_is_a_typo(categories: list[str], slips: list[str]) -> None:
    catalog = Catalog(make_tool(f"tool{number}", category=category) for number, category in enumerate(categories))
    typos = [catalog.get(problem.tool).category for problem in catalog.check() if problem.rule == "category-typo"]
    assert typos == slips


def edits(one: str, other: str) -> int:
    """The textbook distance: insertions, deletions, substitutions and swaps of neighbours."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        rows.append([i])
        for j, b in enumerate(other, 1):
            best = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                best = min(best, rows[i - 2][j - 2] + 1)
            rows[i].append(best)
    return rows[-1][-1]


short_names = st.text("abc", max_size=5)


@given(st.sets(short_names, max_size=20), short_names)
def test_near_names_are_those_at_most_one_edit_away(names: set[str], name: str) -> None:
    assert Spellings(names).near(name) == sorted(other for other in names if edits(name, other) == 1)
