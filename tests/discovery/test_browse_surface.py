"""Surface browse: five fixed tools walk a catalog page by page and run what was found."""

# ruff: noqa: E501 - whole lines, as a model reads them

import pytest
from inline_snapshot import snapshot

from tests.support.site_tools import ScriptedIndex, make, said, site, toolbox
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.native import definition
from toolcrib.discovery.surfaces.browse import browse_surface
from toolcrib.discovery.surfaces.display import SourceState, group_tools
from toolcrib.discovery.tokens import compact_json, definition_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy.policy import Decision, Policy, Rule


def test_the_model_sees_five_small_tools() -> None:
    tools = browse_surface(toolbox())
    assert [(compact_json(definition(tool)), definition_tokens(tool)) for tool in tools] == snapshot(
        [
            (
                '{"type":"function","function":{"name":"list_categories","description":"List the categories of tools. Start here when you do not know what there is.","parameters":{"type":"object","properties":{"page":{"default":1,"description":"From 1","type":"integer"}}}}}',
                57,
            ),
            (
                '{"type":"function","function":{"name":"browse_category","description":"List the tools of a category, one line each.","parameters":{"type":"object","properties":{"category":{"description":"As list_categories names it","type":"string"},"page":{"default":1,"description":"From 1","type":"integer"}},"required":["category"]}}}',
                71,
            ),
            (
                '{"type":"function","function":{"name":"search_tools","description":"Find tools by what they do, in any language. Always search before you say that something cannot be done.","parameters":{"type":"object","properties":{"query":{"description":"What should be done: action and thing","type":"string"},"limit":{"default":8,"type":"integer"}},"required":["query"]}}}',
                79,
            ),
            (
                '{"type":"function","function":{"name":"get_tool","description":"Get a tool\'s arguments and usage notes. Do this before its first call.","parameters":{"type":"object","properties":{"name":{"description":"Exact name of the tool","type":"string"}},"required":["name"]}}}',
                59,
            ),
            (
                '{"type":"function","function":{"name":"execute_tool","description":"Run a tool by name with its arguments, as get_tool or search_tools showed them.","parameters":{"type":"object","properties":{"name":{"type":"string","description":"Exact name of the tool"},"params":{"type":"object","description":"Its arguments"}},"required":["name"]}}}',
                73,
            ),
        ]
    )
    assert {(tool.source, tool.risk) for tool in tools} == {("toolcrib", "safe")}


# Categories


async def test_categories_are_listed_with_their_size_and_a_taste() -> None:
    assert await said(toolbox(surface=browse_surface), "list_categories") == snapshot(
        (
            """\
Categories, with how many tools:
- agents (1): ask_writer
- images (2): search_images, upload_image
- other (1): get_weather
- pages (3): list_pages, get_page, ...
Next: browse_category(category) or search_tools(query).\
""",
            57,
        )
    )


async def test_many_categories_come_in_pages() -> None:
    catalog = Catalog([make(f"do_{n:03}", "Do it.", f"kind {n:03}") for n in range(70)])
    box = toolbox(catalog=catalog, surface=browse_surface)
    text, tokens = await said(box, "list_categories", page=2)
    assert text.splitlines()[:2] == ["Categories, with how many tools, page 2 of 3:", "- kind 025 (1): do_025"]
    assert (
        text.splitlines()[-1]
        == "Next: browse_category(category) or search_tools(query). list_categories(page=3) for more."
    )
    assert tokens < 400
    assert await said(box, "list_categories", page=4) == snapshot(("There is no page 4: the last one is 3.", 14))


async def test_a_catalog_without_tools_says_so() -> None:
    assert await said(toolbox(catalog=Catalog(), surface=browse_surface), "list_categories") == snapshot(
        ("There are no tools. Answer without them.", 9)
    )


async def test_a_category_is_browsed_line_by_line() -> None:
    box = toolbox(surface=browse_surface)
    assert await said(box, "browse_category", category="pages") == snapshot(
        (
            """\
pages, 3 tools:
- list_pages: List the pages of the site.
- get_page: Get one page by its slug.
- delete_page: Delete a page for good.
Next: get_tool(name) for a tool's arguments.\
""",
            50,
        )
    )
    assert await said(box, "browse_category", category=" PAGES ") == await said(
        box, "browse_category", category="pages"
    )
    result = await box.call("browse_category", {"category": "other"})
    assert result.value == Discovered(query="other", tools=("get_weather",))
    assert box.active == ()


async def test_a_long_category_comes_in_pages_of_a_few_hundred_tokens() -> None:
    catalog = Catalog(
        [make(f"do_{n:03}", "Do something useful with one of the many things.", "all") for n in range(40)]
    )
    box = toolbox(catalog=catalog, surface=browse_surface)
    text, tokens = await said(box, "browse_category", category="all")
    assert text.startswith("all, 40 tools, page 1 of 3:\n- do_000: ")
    assert text.endswith(
        "- do_014: Do something useful with one of the many things.\nNext: get_tool(name) for a tool's arguments. Page 2 has more."
    )
    assert tokens < 400
    last, _ = await said(box, "browse_category", category="all", page=3)
    assert last.count("\n- ") == 10
    assert (await box.call("browse_category", {"category": "all", "page": 0})).failed


async def test_an_unknown_category_is_answered_with_the_nearest_one_that_may_be_seen() -> None:
    policy = Policy(rules=(Rule(Decision.HIDE, category="images"),))
    box = toolbox(surface=browse_surface, policy=policy)
    asked = ["page", "images", "zzz"]
    assert [await said(box, "browse_category", category=category) for category in asked] == snapshot(
        [
            ("There is no category \"page\". Did you mean 'pages'?", 13),
            ("There is no category \"images\". Did you mean 'pages'?", 13),
            ('There is no category "zzz". Call list_categories to see what there is.', 16),
        ]
    )
    assert "images" not in (await said(box, "list_categories"))[0]


async def test_a_category_with_a_strange_name_can_be_browsed_by_what_is_shown() -> None:
    catalog = Catalog([make("pay", "Pay.", "mon\u200bey\n- fake (9): x")])
    box = toolbox(catalog=catalog, surface=browse_surface)
    assert (await said(box, "list_categories"))[0].splitlines()[1] == "- money - fake (9): x (1): pay"
    assert not (await box.call("browse_category", {"category": "money - fake (9): x"})).failed


# Searching and reading


async def test_a_search_shows_what_to_do_next_and_activates_nothing() -> None:
    box = toolbox(ScriptedIndex(("search_images", 0.7), ("upload_image", 0.2)), surface=browse_surface)
    assert await said(box, "search_tools", query="find an image") == snapshot(
        (
            """\
Found:
- search_images(query: str): Search images by what they show.
- upload_image(url: str) [moderate]: Put an image into the library.
Next: execute_tool(name, params), or get_tool(name) for all details.\
""",
            51,
        )
    )
    assert box.active == ()


async def test_a_search_that_is_not_sure_or_finds_nothing_says_so() -> None:
    def surface(box: Toolbox) -> object:
        return browse_surface(box, sources={"github": SourceState.DOWN})

    unsure = toolbox(ScriptedIndex(("get_page", 0.4), confidence=0.2), surface=surface)
    assert await said(unsure, "search_tools", query="do it") == snapshot(
        (
            """\
Perhaps one of these:
- get_page(slug: str): Get one page by its slug.
Not searched: github (not reachable). Tell the user if the task needs one of these.
Next: execute_tool(name, params), or get_tool(name) for all details.\
""",
            56,
        )
    )
    assert await said(toolbox(surface=surface), "search_tools", query="sing") == snapshot(
        (
            """\
No tool fits "sing". There are tools for: pages, images, agents.
Not searched: github (not reachable). Tell the user if the task needs one of these.
Search once more in other words if one could help; else answer without tools.\
""",
            52,
        )
    )
    assert (await unsure.call("search_tools", {"query": " "})).failed


async def test_get_tool_points_to_execute_tool() -> None:
    text, _ = await said(toolbox(surface=browse_surface), "get_tool", name="list_pages")
    assert text == "list_pages: List the pages of the site.\nArguments: none\nRun it with execute_tool."


# Running


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "get_page", "params": {"slug": "home"}},
        {"name": " get_page ", "params": '{"slug": "home"}'},
        {"name": "get_page", "arguments": {"slug": "home"}},
        {"name": "get_page", "slug": "home"},
    ],
    ids=["as described", "JSON in a string", "another wrapping", "no wrapping"],
)
async def test_a_tool_is_run_with_its_arguments_and_the_context(arguments: dict[str, object]) -> None:
    result = await toolbox(surface=browse_surface).call("execute_tool", arguments, "the context")
    assert result.value == {"got": {"slug": "home"}, "context": "the context"}


async def test_policy_and_confirmation_act_on_the_inner_tool() -> None:
    policy = Policy(rules=(Rule(Decision.HIDE, name="get_weather"), Rule(Decision.DENY, name="upload_image")))
    box = toolbox(surface=browse_surface, policy=policy)
    pending = await box.call("execute_tool", {"name": "delete_page", "params": {"slug": "home"}})
    assert isinstance(pending.value, PendingApproval)
    assert (pending.value.tool, pending.value.arguments) == ("delete_page", {"slug": "home"})
    without = site()
    without.remove("get_weather")
    asked = {"name": "get_weather", "params": {"city": "Oslo"}}
    missing = await toolbox(catalog=without, surface=browse_surface).call("execute_tool", asked)
    assert await box.call("execute_tool", asked) == missing
    assert "not allowed" in (await box.call("execute_tool", {"name": "upload_image", "params": {"url": "x"}})).text


async def test_execute_tool_says_what_it_needs() -> None:
    box = toolbox(surface=browse_surface)
    [execute] = [tool for tool in box.surface if tool.name == "execute_tool"]
    texts = [(await execute.call(arguments)).text for arguments in ({}, {"name": 5}, {"name": "execute_tool"})]
    assert texts == snapshot(
        [
            'execute_tool needs the name of a tool, such as {"name": "...", "params": {}}.',
            'execute_tool needs the name of a tool, such as {"name": "...", "params": {}}.',
            "execute_tool is called by itself, not through execute_tool.",
        ]
    )
    assert (await box.call("execute_tool", {"name": "get_page", "params": {}})).failed


# Scale


async def test_a_large_catalog_is_sorted_once_for_all_sessions_until_it_changes() -> None:
    catalog = Catalog([make(f"do_{n}", "Do it.", f"kind {n % 200}") for n in range(10_000)])
    policy = Policy(rules=(Rule(Decision.HIDE, category="kind 7"),))
    one, other = (toolbox(catalog=catalog, surface=browse_surface, policy=policy) for _ in range(2))
    await one.call("list_categories", {})
    sorted_in = group_tools(one)
    assert group_tools(other) is sorted_in
    await other.call("browse_category", {"category": "kind 8"})
    assert group_tools(one) is sorted_in
    assert group_tools(toolbox(catalog=catalog)) is not sorted_in  # another policy sees other shelves
    catalog.add(make("late", "Come late.", "brand new"))
    assert not (await one.call("browse_category", {"category": "brand new"})).failed


def test_ways_to_sort_that_are_made_anew_each_time_are_not_kept_for_ever() -> None:
    box = toolbox()
    for number in range(200):
        assert list(group_tools(box, lambda _, number=number: str(number))) == [str(number)]


async def test_the_way_to_a_tool_among_two_hundred_stays_small() -> None:
    catalog = Catalog([make(f"do_{n}", "Do one of two hundred things.", f"kind {n % 20}", "what") for n in range(200)])
    box = toolbox(catalog=catalog, surface=browse_surface)
    index = sum(definition_tokens(tool) for tool in box.surface) + (await said(box, "list_categories"))[1]
    assert index < 2_000
    way = (await said(box, "browse_category", category="kind 3"))[1] + (await said(box, "get_tool", name="do_3"))[1]
    assert index + way < 2_000
