"""A catalog holds tools by name, and refuses what it cannot hold, whole."""

from typing import Any

import pytest

from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import CatalogError, DuplicateToolError, ToolDefinitionError, UnknownToolError
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Entity, Extraction, Tool


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def make_tool(name: str, **fields: Any) -> Tool:
    return Tool(name=name, description="Do it.", call=call, **fields)


def names(catalog: Catalog) -> list[str]:
    return [tool.name for tool in catalog]


def test_tools_are_held_by_name_in_the_order_they_came() -> None:
    a, b, c = make_tool("a"), make_tool("b"), make_tool("c")
    catalog = Catalog([c, a])
    catalog.add(b)
    assert (list(catalog), len(catalog), "a" in catalog, "x" in catalog) == ([c, a, b], 3, True, False)
    assert catalog.get("b") is b
    assert (a in catalog, make_tool("a", category="x") in catalog, [] in catalog) == (True, False, False)
    assert repr(catalog) == "<Catalog of 3 tools, revision 2>"


def test_an_empty_catalog_is_true() -> None:
    assert Catalog()


def test_a_replaced_tool_keeps_its_place_and_a_removed_one_leaves() -> None:
    catalog = Catalog([make_tool("a"), make_tool("b"), make_tool("c")])
    newer = make_tool("a", category="letters")
    catalog.replace(newer)
    assert catalog.remove("b") == make_tool("b")
    assert list(catalog) == [newer, make_tool("c")]


def test_iteration_is_not_disturbed_by_changes() -> None:
    catalog = Catalog([make_tool("a"), make_tool("b")])
    for tool in catalog:
        catalog.remove(tool.name)
    assert names(catalog) == []


def test_the_decorator_works_bare_and_with_options_and_leaves_the_function_alone() -> None:
    catalog = Catalog()

    @catalog.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @catalog.tool(name="take_away", category="maths")
    def subtract(a: int, b: int) -> int:
        """Subtract."""
        return a - b

    assert (add(1, 2), subtract(3, 1)) == (3, 2)
    assert [(tool.name, tool.description, tool.category) for tool in catalog] == [
        ("add", "Add two numbers.", ""),
        ("take_away", "Subtract.", "maths"),
    ]


def test_categories_are_counted() -> None:
    catalog = Catalog([make_tool("a", category="x"), make_tool("b"), make_tool("c", category="x")])
    assert catalog.categories() == {"x": 2}


def replace(catalog: Catalog, name: str) -> None:
    catalog.replace(make_tool(name))


@pytest.mark.parametrize("act", [Catalog.get, Catalog.remove, replace])
def test_an_unknown_name_is_refused_with_the_nearest_known_one(act: Any) -> None:
    with pytest.raises(UnknownToolError) as caught:
        act(Catalog([make_tool("cms_searchImages")]), "cms_searchImage")
    assert str(caught.value) == "There is no tool named 'cms_searchImage'."
    assert caught.value.hint == "Did you mean 'cms_searchImages'?"


def test_a_duplicate_names_both_origins() -> None:
    catalog = Catalog([make_tool("find", source="mcp:shop")])

    def find(query: str) -> str:
        return query

    with pytest.raises(DuplicateToolError) as caught:
        catalog.tool(find)
    line = find.__code__.co_firstlineno
    assert str(caught.value) == f"There are two tools named 'find': one from mcp:shop, one from {__name__}:{line}."
    assert caught.value.hint


def test_a_list_given_to_add_is_refused_in_a_line_however_long_it_is() -> None:
    with pytest.raises(CatalogError) as caught:
        Catalog().add(["x" * 10_000] * 1_000)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "bad",
    [make_tool("held"), make_tool("fresh"), "a text", None, lambda: None],
    ids=["duplicate of a held one", "duplicate in the batch", "text", "none", "function"],
)
def test_a_batch_is_added_as_a_whole_or_not_at_all(bad: Any) -> None:
    catalog = Catalog([make_tool("held")])
    with pytest.raises(CatalogError) as caught:
        catalog.add_all([make_tool("fresh"), bad])
    assert caught.value.hint
    assert (names(catalog), catalog.revision) == (["held"], 1)


def test_a_function_that_cannot_become_a_tool_leaves_nothing_behind() -> None:
    def many(*names: str) -> None: ...

    catalog = Catalog()
    with pytest.raises(ToolDefinitionError):
        catalog.tool(many)
    assert (names(catalog), catalog.revision) == ([], 0)


def find_pages(result: Any) -> list[Entity]:
    return []


@pytest.mark.parametrize("extractor_first", [True, False])
def test_a_custom_extractor_reaches_its_tool_whichever_comes_first(extractor_first: bool) -> None:
    catalog = Catalog()
    schema = Extraction(path="$root", type="page", name_field="title")
    if extractor_first:
        assert catalog.extractor("list_pages")(find_pages) is find_pages
    catalog.add(make_tool("list_pages", extraction=schema))
    if not extractor_first:
        catalog.extractor("list_pages")(find_pages)
    assert catalog.get("list_pages").extraction is find_pages


def test_a_second_or_uncallable_extractor_is_refused() -> None:
    catalog = Catalog()
    catalog.extractor("list_pages")(find_pages)
    wrong: Any = "find_pages"
    with pytest.raises(CatalogError, match="'list_pages' has a custom extractor already"):
        catalog.extractor("list_pages")(find_pages)
    with pytest.raises(CatalogError, match="'find_pages' is not a function"):
        catalog.extractor("list_files")(wrong)
