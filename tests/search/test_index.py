"""The index, through its public door: exact names, filters, companions, switches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.support.search import Concepts, cms_tools, make, office, sure_above
from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import UnknownToolError
from toolcrib.search.index import ToolIndex
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.query import MAX_LIMIT, NOTHING_FITS, SearchOptions
from toolcrib.search.result import SearchResult
from toolcrib.search.usage import Usage


@pytest.fixture(scope="module")
def cms() -> ToolIndex:
    return ToolIndex(Catalog(cms_tools()))


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("write an e-mail to Anna", "send_mail"),
        ("what's the weather like in Oslo", "get_weather"),
        ("I need a plane ticket to Rome", "book_flight"),
        ("how much is 100 dollars in euros? convert the money", "convert_currency"),
        ("make this picture smaller", "resize_image"),
        ("wie wird das Wetter morgen?", "get_weather"),
        ("przetłumacz tekst na angielski", "translate_text"),
        ("reproduce una canción", "play_music"),
        ("发送电子邮件", "send_mail"),
    ],
)
def test_the_tool_that_serves_a_request_comes_first(query: str, name: str) -> None:
    found = ToolIndex(office()).search(query)
    assert found.names[0] == name
    assert (found.reason, found.warnings) == ("", ())
    assert found.took_ms > 0
    assert 0 < found.confidence <= 1


def test_a_hit_says_why_it_was_found() -> None:
    found = ToolIndex(office(), strategies=sure_above(1.0), options=SearchOptions(abstain=False)).search(
        "send an e-mail", limit=8
    )
    why = {hit.name: hit.why for hit in found.hits}
    assert why["send_mail"].startswith("words: send")
    assert why["find_contact"] == "often used with send_mail"
    assert why["play_music"] == "similar meaning"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("trasnlate this letter", "translate_text"),
        ("wie wird das Wettre morgen?", "get_weather"),
        ("sedn a messge to Anna", "send_mail"),
    ],
)
def test_slips_of_the_fingers_are_read_as_they_were_meant(query: str, name: str) -> None:
    assert ToolIndex(office()).search(query).names[0] == name


def test_a_misspelled_request_is_found_as_if_it_were_not(cms: ToolIndex) -> None:
    typed, meant = cms.search("serach imges"), cms.search("search images")
    assert typed.hits == meant.hits
    assert typed.confidence == meant.confidence > 0.9
    assert typed.hits[0].why == "words: search, images"


# Exact names


@pytest.mark.parametrize(
    "query",
    [
        "cms_getPage",
        "cms get page",
        "CMS Get Page",
        " cms_getPage\n",
        "cmsGetPage",
        "cms-get-page",
        "call cms_getPage please",
        "please use `cms_getPage`, if you can",
        "run cms_getPage(id=5) now",
        "“cms_getPage”!",
        "请调用cms_getPage打开页面",
        "I want cms_getPage-",
    ],
)
def test_a_tool_called_by_its_name_comes_first(cms: ToolIndex, query: str) -> None:
    found = cms.search(query)
    assert (found.names[0], found.path, found.confidence) == ("cms_getPage", "exact", 1.0)
    assert found.hits[0].score == 1.0


def test_every_tool_is_found_by_its_name(cms: ToolIndex) -> None:
    for tool in cms_tools():
        assert cms.search(tool.name).names[0] == tool.name


def test_several_names_come_in_the_order_of_the_sentence(cms: ToolIndex) -> None:
    found = cms.search("first web_fetchContent, then cms_createPost and at last cms_addNavigationItem")
    assert found.names[:3] == ("web_fetchContent", "cms_createPost", "cms_addNavigationItem")


def test_camel_case_names_are_found_beside_punctuation() -> None:
    index = ToolIndex(Catalog([make("getPage", "Read."), make("deletePage", "Remove."), make("other", "Else.")]))
    assert index.search("use deletePage, then stop.").names[0] == "deletePage"


def test_an_ordinary_word_of_a_sentence_is_no_name() -> None:
    index = ToolIndex(Catalog([make("weather", "Forecast."), make("Play", "Music.")]))
    assert index.search("weather").path == "exact"
    assert index.search("what a lovely weather today").path != "exact"
    assert index.search("Play it again, Sam").path != "exact"


def test_of_names_that_read_alike_the_one_that_was_written_comes_first() -> None:
    catalog = Catalog([make("getPage", "Read a page."), make("get_page", "Read a page.")])
    index = ToolIndex(catalog)
    assert index.search("getPage").names == ("getPage", "get_page")
    assert index.search("get_page").names == ("get_page", "getPage")
    assert index.search("get page").path == "exact"
    catalog.remove("getPage")
    assert (index.search("get page").path, index.search("get page").names) == ("exact", ("get_page",))


def test_a_name_is_found_when_the_index_would_else_abstain(cms: ToolIndex) -> None:
    assert cms.search("how are you, plan_analyzeTask?").names[0] == "plan_analyzeTask"


# Filters


def test_tools_left_out_are_not_found(cms: ToolIndex) -> None:
    query = "delete the old page"
    assert "cms_deletePage" in cms.search(query).names
    found = cms.search(query, limit=45, where=lambda tool: tool.risk != "destructive")
    assert found.names
    assert not any(name.startswith("cms_delete") for name in found.names)


def test_tools_left_out_are_not_found_by_name_either(cms: ToolIndex) -> None:
    for query in ("cms_deletePage", "cms delete page", "call cms_deletePage now"):
        found = cms.search(query, where=lambda tool: tool.name != "cms_deletePage")
        assert "cms_deletePage" not in found.names
        assert found.path != "exact"


def test_tools_left_out_do_not_come_along() -> None:
    index = ToolIndex(office())
    assert "find_contact" in index.search("send_mail").names
    assert "find_contact" not in index.search("send_mail", where=lambda tool: tool.name != "find_contact").names


def test_tools_left_out_do_not_come_along_from_use() -> None:
    usage = Usage()
    for request in ("rainy day", "sunny day"):
        for name in ("get_weather", "play_music"):
            usage.learn(request, name)
    index = ToolIndex(office(), usage=usage)
    hit = {hit.name: hit.why for hit in index.search("get_weather", limit=2).hits}
    assert hit["play_music"] == "often used with get_weather"
    kept = index.search("get_weather", limit=2, where=lambda tool: tool.name != "play_music")
    assert "play_music" not in kept.names


def test_of_names_that_read_alike_the_visible_one_is_exact() -> None:
    index = ToolIndex(Catalog([make("getPage", "Read a page."), make("get_page", "Read a page.")]))
    found = index.search("get page", where=lambda tool: tool.name != "getPage")
    assert (found.path, found.names) == ("exact", ("get_page",))


def test_with_every_tool_left_out_nothing_fits(cms: ToolIndex) -> None:
    found = cms.search("cms_getPage", where=lambda tool: False)
    assert (found.hits, found.path, found.reason) == ((), "none", NOTHING_FITS)


def test_tools_left_out_take_no_place(cms: ToolIndex) -> None:
    """With 44 of 45 tools hidden the last one is still found, however deep it stands."""
    for name in ("plan_analyzeTask", "http_post"):
        found = cms.search("page section image post", where=lambda tool, name=name: tool.name == name)
        assert found.names in ((name,), ())
    open_index = ToolIndex(Catalog(cms_tools()), options=SearchOptions(abstain=False))
    found = open_index.search("page section image post", where=lambda tool: tool.name == "http_post")
    assert found.names == ("http_post",)


# Companions and parts


def test_related_tools_fill_the_places_left() -> None:
    found = ToolIndex(office()).search("send_mail", limit=3)
    assert found.names[0] == "send_mail"
    assert "find_contact" in found.names


def test_related_tools_that_are_not_there_are_not_named() -> None:
    index = ToolIndex(Catalog([make("a_tool", "Alpha.", related=["nobody", "a_tool", "b_tool"]), make("b_tool", "B.")]))
    assert index.search("a_tool").names == ("a_tool", "b_tool")


def test_a_request_for_two_things_finds_the_tools_of_both(cms: ToolIndex) -> None:
    found = cms.search("delete the old blog post and then add a link to the menu")
    assert {"cms_deletePost", "cms_addNavigationItem"} <= set(found.names)


@pytest.mark.parametrize(
    ("switch", "parts"),
    [
        ({}, ("send an e-mail to Bob", "book a flight to Rome")),
        ({"options": SearchOptions(decompose=False)}, ()),
        ({"strategies": sure_above(0.9, decompose=False)}, ()),
    ],
    ids=["on", "off", "off by strategy"],
)
def test_requests_are_taken_apart_unless_that_is_switched_off(switch: dict[str, Any], parts: tuple[str]) -> None:
    index = ToolIndex(office(), **switch)
    assert index.explain("send an e-mail to Bob and book a flight to Rome", "send_mail").parts == parts


# Switches and thresholds


def test_each_arm_can_search_alone() -> None:
    catalog = Catalog([make("alpha", "Feline animals."), make("beta", "Something with dogs.")])
    embedder = Concepts("feline kitten", "dogs")
    lexical = ToolIndex(catalog, embedder, options=SearchOptions(arms="lexical", abstain=False))
    dense = ToolIndex(catalog, embedder, options=SearchOptions(arms="dense", abstain=False))
    assert lexical.search("kitten").hits == ()
    assert lexical.search("animals").path == "lexical"
    assert embedder.queries == []
    found = dense.search("kitten with dogs dogs")
    assert (found.path, found.names) == ("dense", ("beta", "alpha"))
    assert found.hits[0].score > found.hits[1].score
    assert dense.search("animals kitten").names[0] == "alpha"


def test_the_words_alone_decide_when_they_are_sure_enough() -> None:
    query = "convert currency"
    always_answer = SearchOptions(abstain=False)
    trusting = ToolIndex(office(), strategies=sure_above(0.0))
    assert trusting.search(query + " money", options=always_answer).path == "lexical"
    unsure = ToolIndex(office(), strategies=sure_above(1.0), options=always_answer)
    assert unsure.search(query + " money").path in ("blended", "dense")


def test_the_words_alone_do_not_decide_between_tools_that_match_them_alike() -> None:
    twins = Catalog([make("open_page", "Open one page."), make("close_page", "Close one page.")])
    index = ToolIndex(twins, strategies=sure_above(0.0), options=SearchOptions(abstain=False))
    assert index.search("one page").path in ("blended", "dense")
    assert index.search("close one page").path == "lexical"


def test_the_words_are_heard_above_a_threshold() -> None:
    for above, path in ((-1.0, "blended"), (1.0, "dense")):
        index = ToolIndex(
            office(), strategies=sure_above(1.0, blended_above=above), options=SearchOptions(abstain=False)
        )
        assert index.search("money for Rome").path == path


def test_how_likely_a_tool_must_serve_can_be_chosen() -> None:
    asked = "make this picture smaller"
    never = ToolIndex(office(), strategies=sure_above(1.0, answer_above=1.1))
    assert (never.search(asked).hits, never.search(asked).reason) == ((), NOTHING_FITS)
    always = ToolIndex(office(), strategies=sure_above(1.0, answer_above=0.0))
    assert always.search("how are you?").hits
    assert ToolIndex(office(), options=SearchOptions(abstain=False)).search("how are you?").hits


def test_strategies_are_chosen_by_size() -> None:
    catalog = Catalog([make("a_tool", "Alpha."), make("b_tool", "Beta.")])
    sizes = (sure_above(1.0, up_to=2, answer_above=0.11)[0], sure_above(1.0, up_to=9, answer_above=0.22)[0])
    index = ToolIndex(catalog, strategies=sizes)
    assert index.explain("alpha", "a_tool").answer_above == 0.11
    catalog.add(make("c_tool", "Gamma."))
    assert index.explain("alpha", "a_tool").answer_above == 0.22


# Similar tools


def test_similar_tools_are_near_in_meaning(cms: ToolIndex) -> None:
    near = cms.similar("cms_deletePost", limit=44)
    names = [hit.name for hit in near]
    assert len(names) == 44
    assert "cms_deletePost" not in names
    assert [hit.score for hit in near] == sorted((hit.score for hit in near), reverse=True)
    assert names.index("cms_archivePost") < names.index("http_get")
    assert cms.similar("cms_deletePost") == near[:5]


def test_without_a_dense_arm_similar_tools_share_words() -> None:
    catalog = Catalog([make("delete_page", "Delete a page."), make("create_page", "Page."), make("song", "Music.")])
    index = ToolIndex(catalog, options=SearchOptions(arms="lexical"))
    [hit] = index.similar("delete_page")
    assert (hit.name, hit.why) == ("create_page", "similar words")
    assert 0 < hit.score < 1
    assert index.similar("delete_page", limit=0) == index.similar("delete_page", limit=-3) == ()


@pytest.mark.parametrize("limit", [0, -1])
def test_no_similar_tools_can_be_asked_for(cms: ToolIndex, limit: int) -> None:
    assert cms.similar("cms_getPage", limit=limit) == ()


def test_unknown_names_are_refused_with_the_nearest_one(cms: ToolIndex) -> None:
    for act in (
        lambda: cms.similar("cms_getPages"),
        lambda: cms.explain("page", "cms_getPages"),
        lambda: cms.learn("page", "cms_getPages"),
    ):
        with pytest.raises(UnknownToolError) as caught:
            act()
        assert caught.value.hint is not None
        assert "Did you mean 'cms_getPage" in caught.value.hint


# The rest


def test_no_more_hits_than_asked_for(cms: ToolIndex) -> None:
    for limit in (1, 2, 7, 45):
        assert len(cms.search("page", limit=limit).hits) <= limit
    many = ToolIndex(
        Catalog([make(f"page_{number}", "A page.") for number in range(150)]), options=SearchOptions(abstain=False)
    )
    assert 0 < len(many.search("some page", limit=10**9).hits) <= MAX_LIMIT


def test_no_tool_comes_twice(cms: ToolIndex) -> None:
    for query in ("page", "delete the page and the post", "cms_getPage and cms_getPage", "image"):
        names = cms.search(query, limit=45).names
        assert len(set(names)) == len(names)


def test_the_same_request_gets_the_same_answer(cms: ToolIndex) -> None:
    def answer(index: ToolIndex) -> tuple[object, ...]:
        found: SearchResult = index.search("put a photo of a lake on the start page")
        return found.hits, found.confidence, found.path

    assert answer(cms) == answer(cms) == answer(ToolIndex(Catalog(cms_tools())))


def test_embedders_may_give_opposite_vectors() -> None:
    """A tool as far away as can be is still a tool, also when another one left."""

    class Opposite:
        id, dimensions, remote = "opposite", 1, False

        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            return np.ones((len(texts), 1), dtype=np.float32)

        def embed_queries(self, texts: Sequence[str]) -> Vectors:
            return -np.ones((len(texts), 1), dtype=np.float32)

    catalog = Catalog([make(f"tool_{number}", "Alpha.") for number in range(3)])
    index = ToolIndex(catalog, Opposite(), options=SearchOptions(abstain=False))
    index.search("beta")
    catalog.remove("tool_0")
    assert sorted(index.search("beta").names) == ["tool_1", "tool_2"]


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(arms="lexical", abstain=False, decompose=False),
        SearchOptions(arms="dense", abstain=False),
        SearchOptions(abstain=False),
    ],
    ids=["lexical", "dense", "always"],
)
def test_options_of_a_search_give_what_an_index_with_these_options_gives(options: SearchOptions) -> None:
    shared, own = ToolIndex(Catalog(cms_tools())), ToolIndex(Catalog(cms_tools()), options=options)
    for query in ("delete the old post and add a link to the menu", "how are you?", "usuń zdjęcie"):
        shared.search(query)
        found, expected = shared.search(query, options=options), own.search(query)
        assert (found.hits, found.confidence, found.path) == (expected.hits, expected.confidence, expected.path)
