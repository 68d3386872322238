"""Learning from use: it helps, it is bounded, and it can be taken back."""

from pathlib import Path

import pytest

from tests.support.search import Concepts, cms_tools, make, office, sure_above
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import ArmChoice, SearchOptions
from toolcrib.search.usage import MAX_REQUESTS, Usage

SLANG = [f"gimme the {word} thingy" for word in ("big", "small", "blue", "old", "new", "odd", "red", "flat", "thin")]


def rank(index: ToolIndex, query: str, name: str) -> int:
    names = index.search(query, limit=100).names
    return names.index(name) if name in names else len(names)


def meaning(catalog: Catalog, usage: Usage | None = None) -> ToolIndex:
    """By meaning, which is what moves."""
    return ToolIndex(catalog, usage=usage, options=SearchOptions(arms="dense", abstain=False))


def test_a_tool_moves_up_for_requests_like_those_that_led_to_it() -> None:
    index = meaning(Catalog(cms_tools()))
    query = "gimme the green thingy"
    before = rank(index, query, "cms_replaceImage")
    for request in SLANG:
        index.learn(request, "cms_replaceImage")
    assert rank(index, query, "cms_replaceImage") < before
    assert rank(index, query, "cms_replaceImage") == 0


def test_learning_is_seen_by_the_next_search_of_both_arms() -> None:
    index = ToolIndex(office(), strategies=sure_above(1.0), options=SearchOptions(abstain=False))
    score = {hit.name: hit.score for hit in index.search("xylophone quartet", limit=8).hits}["play_music"]
    for number in range(10):
        index.learn(f"xylophone quartet number {number}", "play_music")
    after = {hit.name: hit.score for hit in index.search("xylophone quartet", limit=8).hits}["play_music"]
    assert after > score


def test_one_odd_click_hijacks_no_other_request() -> None:
    for learned, query, right in (
        ("delete the old blog post", "delete the oldest blog post", "cms_deletePost"),
        ("find hero image", "find the hero image", "cms_searchImages"),
    ):
        index = meaning(Catalog(cms_tools()))
        first = index.search(query).names[0]
        index.learn(learned, "http_get")
        assert index.search(query).names[0] == first
        assert rank(index, query, "http_get") > rank(index, query, right)


@pytest.mark.parametrize("arms", ["both", "lexical", "dense"])
def test_one_example_is_enough_for_the_same_request(arms: ArmChoice) -> None:
    index = ToolIndex(Catalog(cms_tools()), options=SearchOptions(arms=arms))
    request = "gimme the green thingy"
    before = rank(index, "gimme that green thingy", "cms_replaceImage")
    index.learn(request, "cms_replaceImage")
    found = index.search("Gimme the green thingy!")
    assert found.names[0] == "cms_replaceImage"
    assert found.confidence >= 0.8
    assert rank(index, "gimme that green thingy", "cms_replaceImage") <= before
    assert index.search(request, where=lambda tool: tool.name != "cms_replaceImage").names[:1] != ("cms_replaceImage",)
    index.forget("cms_replaceImage")
    assert index.search(request).names[:1] != ("cms_replaceImage",)


def test_a_request_that_led_to_several_tools_finds_them_in_that_order() -> None:
    index = ToolIndex(Catalog(cms_tools()))
    for name in ("cms_updatePost", "cms_deletePage", "cms_createPage"):
        index.learn("the usual", name)
    assert index.search("the usual").names[:3] == ("cms_updatePost", "cms_deletePage", "cms_createPage")


def test_the_same_click_counts_once() -> None:
    once, often = meaning(Catalog(cms_tools())), meaning(Catalog(cms_tools()))
    once.learn("gimme the green thingy", "cms_replaceImage")
    for _ in range(500):
        often.learn("gimme  the green thingy ", "cms_replaceImage")
    query = "gimme the green thingy"
    assert once.search(query, limit=45).hits == often.search(query, limit=45).hits


def test_a_poisoned_log_cannot_make_a_tool_unfindable_or_omnipresent() -> None:
    usage = Usage()
    for number in range(5 * MAX_REQUESTS):
        usage.learn(f"delete the old blog post number {number}", "http_get")
    poisoned = ToolIndex(Catalog(cms_tools()), usage=usage)
    assert "http_get" in poisoned.search("send an HTTP GET request to this address").names[:2]
    assert "cms_deletePost" in poisoned.search("delete the old blog post").names[:2]
    for query in ("list all images", "add a link to the menu", "search the web"):
        assert poisoned.search(query).names[0] != "http_get"
    assert len(usage.requests("http_get")) == MAX_REQUESTS


def test_a_log_that_names_unknown_tools_does_no_harm() -> None:
    usage = Usage()
    for request in ("rainy day", "sunny day"):
        for name in ("get_weather", "nobody", "\x00", ""):
            usage.learn(request, name)
    index = ToolIndex(office(), usage=usage)
    assert index.search("get_weather").names[0] == "get_weather"
    assert set(index.search("get_weather", limit=50).names) <= {tool.name for tool in office()}


@pytest.mark.parametrize("arms", ["both", "dense"])
def test_what_is_forgotten_leaves_no_trace(arms: ArmChoice) -> None:
    untouched = ToolIndex(Catalog(cms_tools()), options=SearchOptions(arms=arms, abstain=False))
    index = ToolIndex(Catalog(cms_tools()), options=SearchOptions(arms=arms, abstain=False))
    for request in SLANG:
        for name in ("cms_replaceImage", "http_get"):
            index.learn(request, name)
    query = "gimme the green thingy"
    index.search(query)
    index.forget("http_get")
    index.forget("cms_replaceImage")
    assert index.search(query, limit=45).hits == untouched.search(query, limit=45).hits
    for request in SLANG:
        index.learn(request, "http_get")
    index.search(query)
    index.forget()
    assert index.search(query, limit=45).hits == untouched.search(query, limit=45).hits


def test_forgetting_one_tool_keeps_the_others() -> None:
    both, one = meaning(Catalog(cms_tools())), meaning(Catalog(cms_tools()))
    for request in SLANG:
        both.learn(request, "cms_replaceImage")
        both.learn(request, "http_get")
        one.learn(request, "cms_replaceImage")
    both.forget("http_get")
    query = "gimme the green thingy"
    assert both.search(query, limit=45).hits == one.search(query, limit=45).hits


def test_what_was_learned_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    before = meaning(Catalog(cms_tools()), Usage(path))
    for request in SLANG:
        before.learn(request, "cms_replaceImage")
    after = meaning(Catalog(cms_tools()), Usage(path))
    query = "gimme the green thingy"
    assert after.search(query, limit=45).hits == before.search(query, limit=45).hits
    assert after.search(query).names[0] == "cms_replaceImage"
    after.forget()
    assert meaning(Catalog(cms_tools()), Usage(path)).search(query).names[0] != "cms_replaceImage"


def test_a_broken_log_costs_only_its_broken_lines(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    before = meaning(Catalog(cms_tools()), Usage(path))
    for request in SLANG:
        before.learn(request, "cms_replaceImage")
    path.write_text(f'{{"request": "cut\n\n[]\n{path.read_text(encoding="utf-8")}\x00', encoding="utf-8")
    after = meaning(Catalog(cms_tools()), Usage(path))
    query = "gimme the green thingy"
    assert after.search(query, limit=45).hits == before.search(query, limit=45).hits


def test_a_tool_that_left_and_came_back_keeps_what_was_learned() -> None:
    catalog = Catalog(cms_tools())
    index = meaning(catalog)
    for request in SLANG:
        index.learn(request, "cms_replaceImage")
    index.search("warm up")
    catalog.add(catalog.remove("cms_replaceImage"))
    assert index.search("gimme the green thingy").names[0] == "cms_replaceImage"


def test_a_tool_may_leave_right_after_it_was_learned() -> None:
    catalog = office()
    index = ToolIndex(catalog)
    index.learn("sing me something", "play_music")
    catalog.remove("play_music")
    assert "play_music" not in index.search("sing me something", limit=8).names
    index.forget()


def test_nothing_is_learned_from_an_empty_request() -> None:
    usage = Usage()
    ToolIndex(office(), usage=usage).learn("  ", "play_music")
    assert list(usage) == []


def test_without_a_dense_arm_use_brings_companions_all_the_same() -> None:
    index = ToolIndex(office(), options=SearchOptions(arms="lexical"))
    for request in ("rainy day", "sunny day"):
        for name in ("get_weather", "play_music"):
            index.learn(request, name)
    assert index.search("get_weather", limit=2).names == ("get_weather", "play_music")
    index.forget()
    assert "play_music" not in index.search("get_weather", limit=2).names


def test_learning_asks_the_embedder_at_the_next_search() -> None:
    embedder = Concepts("feline kitten", "hound")
    catalog = Catalog([make("alpha", "Feed the feline."), make("beta", "Walk the hound.")])
    index = ToolIndex(catalog, embedder, strategies=sure_above(1.0), options=SearchOptions(abstain=False))
    index.learn("kitten time", "alpha")
    assert embedder.queries == []
    index.search("hound")
    assert embedder.queries == ["kitten time", "hound"]
