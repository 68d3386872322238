"""Surface search: one tool finds others, hands over as many as are worth it, and says why when there are none."""

# ruff: noqa: E501 - whole lines, as a model reads them

from functools import partial

import pytest
from inline_snapshot import snapshot

from tests.support.site_tools import ScriptedIndex, make, said, site, toolbox
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.handover import Discovered, best_hits
from toolcrib.discovery.native import definition
from toolcrib.discovery.surfaces.browse import compact_surface
from toolcrib.discovery.surfaces.display import SourceState
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.tokens import compact_json, definition_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.search.result import Hit, Path, SearchResult
from toolcrib.tools.tool import Risk


def images() -> ScriptedIndex:
    return ScriptedIndex(("search_images", 0.7), ("upload_image", 0.2))


def test_the_model_sees_one_small_tool() -> None:
    [search] = search_surface(toolbox())
    assert (compact_json(definition(search)), definition_tokens(search)) == snapshot(
        (
            '{"type":"function","function":{"name":"tool_search","description":"Find tools for a task and make them callable. Describe the task in any language. Always search before you say that something cannot be done.","parameters":{"type":"object","properties":{"query":{"description":"What should be done: action and thing","type":"string"},"limit":{"default":8,"type":"integer"}},"required":["query"]}}}',
            85,
        )
    )


def test_the_definition_does_not_depend_on_the_catalog() -> None:
    [small], [large] = search_surface(toolbox()), search_surface(Toolbox(Catalog([make(f"t{n}") for n in range(500)])))
    assert definition(small) == definition(large)
    assert small.parameters is large.parameters, "the schema is made once: that takes as long as a search"
    [named] = search_surface(toolbox(), name="find_tools")
    assert (named.name, named.source, named.risk) == ("find_tools", "toolcrib", "safe")


async def test_what_is_found_is_ready_to_call() -> None:
    box = toolbox(images(), surface=search_surface)
    assert await said(box, "tool_search", query="find an image") == snapshot(
        (
            """\
Ready to call (sure):
- search_images(query): Search images by what they show.
- upload_image(url) [moderate]: Put an image into the library.
None fits? Search again in other words.\
""",
            43,
        )
    )
    assert box.active == ("search_images", "upload_image")


async def test_a_repeated_query_says_that_the_tools_are_active() -> None:
    box = toolbox(images(), surface=search_surface)
    await box.call("tool_search", {"query": "find an image"})
    assert await said(box, "tool_search", query="find an image") == snapshot(
        (
            """\
Already active, so call instead of searching again: search_images, upload_image [moderate].
None fits? Search again in other words.\
""",
            28,
        )
    )


async def test_a_search_that_is_not_sure_says_so() -> None:
    index = ScriptedIndex(("search_images", 0.4), ("get_page", 0.3), confidence=0.3)
    box = toolbox(index, surface=partial(search_surface, sources={"github": SourceState.STARTING}))
    assert await said(box, "tool_search", query="get it") == snapshot(
        (
            """\
Ready to call (unsure):
- search_images(query): Search images by what they show.
- get_page(slug): Get one page by its slug.
Not searched: github (still starting). Tell the user if the task needs one of these.
Perhaps none of them fits: choose with care, or search again in other words.\
""",
            68,
        )
    )


async def test_risk_and_confirmation_are_shown_where_there_are_any() -> None:
    box = toolbox(ScriptedIndex(("delete_page", 1.0)), surface=search_surface)
    assert await said(box, "tool_search", query="delete a page") == snapshot(
        (
            """\
Ready to call (sure):
- delete_page(slug) [destructive, asks the user first]: Delete a page for good.
None fits? Search again in other words.\
""",
            36,
        )
    )


async def test_a_tool_that_may_not_be_called_is_named_but_stays_inactive() -> None:
    policy = Policy(rules=(Rule(Decision.DENY, name="delete_page", reason="pages are kept"),))
    box = toolbox(ScriptedIndex(("delete_page", 1.0)), surface=search_surface, policy=policy)
    assert await said(box, "tool_search", query="delete a page") == snapshot(
        (
            """\
Found, but not allowed:
- delete_page(slug: str) [destructive, not allowed]: Delete a page for good.
Tell the user that these may not be used here.\
""",
            38,
        )
    )
    assert box.active == ()
    both = toolbox(ScriptedIndex(("delete_page", 0.6), ("get_page", 0.4)), surface=search_surface, policy=policy)
    text, _ = await said(both, "tool_search", query="page")
    assert "delete_page(slug) [destructive, not allowed]" in text
    assert both.active == ("get_page",)


async def test_a_stranger_cannot_call_its_own_tool_safe() -> None:
    box = toolbox(ScriptedIndex(("fetch", 1.0)), Catalog([make("fetch", source="mcp:web")]), surface=search_surface)
    assert "fetch() [moderate]" in (await said(box, "tool_search", query="fetch"))[0]


# Nothing found


async def test_nothing_found_says_what_there_is_instead() -> None:
    assert await said(toolbox(surface=search_surface), "tool_search", query="tell me a joke") == snapshot(
        (
            """\
No tool fits "tell me a joke". There are tools for: pages, images, agents.
Search once more in other words if one could help; else answer without tools.\
""",
            36,
        )
    )


async def test_nothing_found_tells_of_sources_that_could_not_be_searched() -> None:
    states = {
        "github": SourceState.NEEDS_LOGIN,
        "jira": SourceState.DOWN,
        "slack": SourceState.READY,
    }
    box = toolbox(surface=partial(search_surface, sources=lambda: states))
    assert await said(box, "tool_search", query="open an issue") == snapshot(
        (
            """\
No tool fits "open an issue". There are tools for: pages, images, agents.
Not searched: github (needs a login), jira (not reachable). Tell the user if the task needs one of these.
Search once more in other words if one could help; else answer without tools.\
""",
            60,
        )
    )
    states["github"] = states["jira"] = SourceState.READY
    assert "Not searched" not in (await said(box, "tool_search", query="open an issue"))[0]


async def test_suggestions_begin_with_categories_that_the_query_nearly_names() -> None:
    catalog = Catalog([make(f"t{n}_{m}", "", f"kind{n}") for n in range(6) for m in range(6 - n)])
    catalog.add(make("pay", "", "invoices"))
    text, _ = await said(toolbox(catalog=catalog, surface=search_surface), "tool_search", query="send invoice now")
    assert "There are tools for: invoices, kind0, kind1." in text


async def test_without_any_tool_the_model_is_told_to_do_without() -> None:
    hidden = Policy(rules=(Rule(Decision.HIDE),))
    for box in (toolbox(catalog=Catalog()), toolbox(policy=hidden)):
        box = Toolbox(box.catalog, box.index, policy=box.policy, surface=search_surface)
        assert await said(box, "tool_search", query="help") == snapshot(("There are no tools. Answer without them.", 9))


async def test_a_hidden_source_is_not_spoken_of() -> None:
    down = {"secret": SourceState.DOWN, "held": SourceState.DOWN, "open": SourceState.DOWN}
    policy = Policy(rules=(Rule(Decision.HIDE, source="secret"), Rule(Decision.HIDE, name="vault")))
    catalog = Catalog([make("vault", source="held"), make("door", source="open")])
    box = toolbox(catalog=catalog, policy=policy, surface=partial(search_surface, sources=down))
    text, _ = await said(box, "tool_search", query="anything")
    assert "Not searched: open (not reachable)." in text


@pytest.mark.parametrize("query", ["", "  ", "\n\t"])
async def test_a_blank_query_is_a_failure_that_says_what_to_do(query: str) -> None:
    result = await toolbox(images(), surface=search_surface).call("tool_search", {"query": query})
    assert result.failed
    assert result.text == snapshot('The query is empty. Say what should be done, such as "send an e-mail".')


async def test_a_missing_query_is_a_failure_that_names_it() -> None:
    result = await toolbox(images(), surface=search_surface).call("tool_search", {})
    assert result.failed
    assert "query: is required, but missing" in result.text


# How many


def hits(*scores: float) -> tuple[Hit, ...]:
    return tuple(Hit(name=f"t{number}", score=score) for number, score in enumerate(scores))


@pytest.mark.parametrize(
    ("scores", "confidence", "path", "limit", "shown"),
    [
        ((0.9, 0.02, 0.01, 0.01), 0.9, "blended", 8, 1),
        ((0.7, 0.2, 0.02, 0.01), 0.9, "dense", 8, 2),
        ((0.3, 0.25, 0.2, 0.15, 0.1), 0.9, "blended", 8, 5),
        ((0.9, 0.02, 0.0, 0.0, 0.0), 0.9, "blended", 8, 2),
        ((0.5, 0.4, 0.0, 0.0), 0.9, "blended", 8, 2),
        ((0.9, 0.8, 0.5, 0.4), 0.9, "lexical", 8, 2),
        ((1.0, 0.2, 0.0), 1.0, "exact", 8, 2),
        ((0.9, 0.02, 0.01, 0.01), 0.3, "dense", 8, 4),
        ((0.1,) * 30, 0.3, "dense", 8, 8),
        ((0.1,) * 30, 0.3, "dense", 100, 10),
        ((0.1,) * 30, 0.9, "dense", 2, 2),
        ((0.1,) * 30, 0.9, "dense", 0, 1),
        ((), 0.0, "none", 8, 0),
    ],
    ids=[
        "sure and narrow: one",
        "a rival comes along",
        "a request that needs several gets several",
        "one alone brings a companion",
        "two need none",
        "by words alone, near means nearer",
        "a tool called by name brings its companions only",
        "not sure: all",
        "not sure: up to the limit",
        "never more than ten",
        "never more than asked for",
        "at least one",
        "nothing stays nothing",
    ],
)
def test_the_number_of_tools_follows_confidence(
    scores: tuple[float, ...], confidence: float, path: Path, limit: int, shown: int
) -> None:
    found = SearchResult(hits=hits(*scores), confidence=confidence, path=path, took_ms=0.0)
    assert len(best_hits(found, limit)) == shown


async def test_programs_get_the_names_and_what_is_new() -> None:
    box = toolbox(images(), surface=search_surface)
    box.activate(["search_images"])
    result = await box.call("tool_search", {"query": "image", "limit": 50})
    assert result.value == Discovered(
        query="image", tools=("search_images", "upload_image"), activated=("upload_image",), confidence=0.9
    )
    assert not result.failed


async def test_a_tool_that_went_away_since_the_search_is_passed_over() -> None:
    index = ScriptedIndex(("gone", 0.5), ("get_page", 0.4))
    box = toolbox(index, surface=search_surface)
    text, _ = await said(box, "tool_search", query="page")
    assert "gone" not in text
    assert "get_page" in text


async def test_the_real_index_stands_behind_it() -> None:
    box = Toolbox(site(), surface=search_surface)
    result = await box.call("tool_search", {"query": "delete a page"})
    assert result.value.tools[0] == "delete_page"
    assert (await box.call("tool_search", {"query": "get_weather"})).value.tools[0] == "get_weather"


# Compact mode


async def test_get_tool_gives_schema_and_protocol_and_activates() -> None:
    box = toolbox(surface=compact_surface)
    assert await said(box, "get_tool", name="get_page") == snapshot(
        (
            """\
get_page: Get one page by its slug.
Arguments: {"type":"object","properties":{"slug":{"type":"string"}},"required":["slug"]}
BEFORE: Find the slug with list_pages.
GOTCHA: Drafts are left out.
Often used with: list_pages, delete_page
Call it by name.\
""",
            65,
        )
    )
    assert box.active == ("get_page",)


async def test_get_tool_refuses_what_is_not_there_or_not_allowed() -> None:
    policy = Policy(rules=(Rule(Decision.HIDE, name="get_weather"), Rule(Decision.DENY, risk=Risk.DESTRUCTIVE)))
    box = toolbox(surface=compact_surface, policy=policy)
    texts = [await said(box, "get_tool", name=name) for name in ("get_pag", "get_weather", "delete_page")]
    assert texts == snapshot(
        [
            ("There is no tool named 'get_pag'. Did you mean 'get_page'?", 16),
            ("There is no tool named 'get_weather'. Did you mean 'get_page'?", 16),
            ("delete_page is not allowed, because a rule forbids it. Do not try again; tell the user.", 22),
        ]
    )
    assert box.active == ()


def test_get_tool_is_small() -> None:
    [get] = compact_surface(toolbox())
    assert (compact_json(definition(get)), definition_tokens(get)) == snapshot(
        (
            '{"type":"function","function":{"name":"get_tool","description":"Get a tool\'s arguments and usage notes, and make it callable. Do this before its first call.","parameters":{"type":"object","properties":{"name":{"description":"Exact name of the tool","type":"string"}},"required":["name"]}}}',
            64,
        )
    )
