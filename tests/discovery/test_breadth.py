"""Which of the tools found are handed over with their definitions, and which are only named."""

import json
from functools import partial
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.support.site_tools import ScriptedIndex, said, toolbox
from toolcrib.discovery.handover import BUDGET_TOKENS, Discovered, hand_over
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy.policy import Decision, Policy, Rule
from toolcrib.search.index import ToolIndex
from toolcrib.search.result import Hit, Path as Way, SearchResult
from toolcrib_cms import build

REQUESTS = Path(__file__).parents[1] / "data/cms_requests.jsonl"


@pytest.mark.parametrize(
    ("scores", "confidence", "way", "limit", "budget", "handed", "named"),
    [
        ((0.6, 0.3, 0.2, 0.01, 0.01, 0.01), 0.9, "blended", 8, 250, "ab", "cde"),
        ((0.6, 0.3, 0.2, 0.01, 0.01, 0.01), 0.9, "blended", 8, 95, "a", "bcd"),
        ((0.6, 0.3, 0.2, 0.01, 0.01, 0.01), 0.9, "blended", 8, 0, "a", "bc"),
        ((0.6, 0.3, 0.2), 0.9, "blended", 8, 1_000, "abc", ""),
        ((0.9, 0.01, 0.01), 0.9, "blended", 1, 1_000, "a", ""),
        ((0.2,) * 10, 0.3, "dense", 8, 250, "ab", "cdefgh"),
        ((1.0, 0.2, 0.1, 0.0), 1.0, "exact", 8, 150, "a", ""),
        ((), 0.0, "none", 8, 250, "", ""),
    ],
    ids=[
        "while they fit; then five are shown in all",
        "the best one always; what it takes too much is saved on names",
        "two names stay",
        "all, if the budget allows",
        "never more than asked for",
        "not sure: as many names as asked for",
        "asked for by name, no other one is meant",
        "nothing stays nothing",
    ],
)
def test_tools_are_handed_over_within_a_budget(
    scores: tuple[float, ...], confidence: float, way: Way, limit: int, budget: int, handed: str, named: str
) -> None:
    hits = tuple(Hit(name="abcdefghij"[at], score=score) for at, score in enumerate(scores))
    found = SearchResult(hits=hits, confidence=confidence, path=way, took_ms=0.0)
    chosen = hand_over(found, limit, lambda name: 100, budget)
    assert ["".join(hit.name for hit in kind) for kind in (chosen.handed, chosen.named)] == [handed, named]


def test_a_smaller_tool_may_fit_where_a_larger_one_does_not() -> None:
    found = SearchResult(
        hits=tuple(Hit(name=name, score=0.3) for name in "abc"), confidence=0.9, path="dense", took_ms=0.0
    )
    chosen = hand_over(found, 8, {"a": 100, "b": 900, "c": 50}.__getitem__, 200)
    assert [hit.name for hit in chosen.handed] == ["a", "c"]
    assert [hit.name for hit in chosen.named] == ["b"]


async def test_what_does_not_fit_is_named_and_a_search_for_the_name_hands_it_over() -> None:
    index = ScriptedIndex(("get_page", 0.5), ("delete_page", 0.3), ("list_pages", 0.2))
    box = toolbox(index, surface=partial(search_surface, budget_tokens=0))
    assert await said(box, "tool_search", query="page") == snapshot(
        (
            """\
Ready to call (sure):
- get_page(slug): Get one page by its slug.
Callable, too; for its arguments search for its name: list_pages, delete_page.
None fits? Search again in other words.\
""",
            46,
        )
    )
    assert box.active == ("get_page",)
    index.hits, index.path = (("delete_page", 1.0), ("get_page", 0.4)), "exact"
    result = await box.call("tool_search", {"query": "delete_page"})
    assert result.value == Discovered(
        query="delete_page", tools=("delete_page",), activated=("delete_page",), confidence=0.9
    )


async def test_what_the_model_has_already_costs_nothing_more() -> None:
    index = ScriptedIndex(("get_page", 0.4), ("list_pages", 0.3), ("delete_page", 0.3))
    box = toolbox(index, surface=partial(search_surface, budget_tokens=0))
    box.activate(["list_pages"])
    result = await box.call("tool_search", {"query": "page"})
    assert (result.value.tools, result.value.named) == (("get_page", "list_pages"), ("delete_page",))


async def test_a_tool_that_may_not_be_called_is_not_named_beside() -> None:
    policy = Policy(rules=(Rule(Decision.DENY, name="delete_page"),))
    index = ScriptedIndex(("get_weather", 0.9), ("list_pages", 0.01), ("delete_page", 0.01))
    box = toolbox(index, surface=search_surface, policy=policy)
    assert (await box.call("tool_search", {"query": "page"})).value.named == ("list_pages",)


async def test_site_editors_are_shown_the_right_tool_and_mostly_handed_it() -> None:
    """The CMS's 168 requests; `benchmarks/results/agent_tokens.md` has the figures."""
    catalog = build(":memory:", seeded=False).catalog
    index = ToolIndex(catalog)
    requests = [json.loads(line) for line in REQUESTS.read_text("utf-8").splitlines()]
    handed, not_shown = 0, list[str]()
    for row in requests:
        right = {row["tool"]} if isinstance(row["tool"], str) else set(row["tool"])
        box = Toolbox(catalog, index, surface=search_surface)
        value: Discovered = (await box.call("tool_search", {"query": row["text"]})).value
        handed += bool(right & set(value.tools))
        not_shown += [] if right & {*value.tools, *value.named} else [row["text"]]
    assert handed / len(requests) >= 0.80
    assert (not_shown, len(requests)) == ([], 168)


def test_the_budget_lets_at_least_one_tool_of_any_size_come() -> None:
    found = SearchResult(hits=(Hit(name="huge", score=1.0),), confidence=1.0, path="exact", took_ms=0.0)
    assert hand_over(found, 8, lambda name: 10 * BUDGET_TOKENS).handed == found.hits
