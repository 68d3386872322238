"""Why a tool stands where it stands, for programs and for people."""

from dataclasses import replace

from tests.support.search import Concepts, make, office, sure_above
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import NOTHING_FITS, SearchOptions
from toolcrib.search.result import Explanation

FULL = Explanation(
    query="delte the blog page",
    name="delete_page",
    rank=2,
    score=0.25,
    path="blended",
    confidence=0.5,
    reason="",
    tools=45,
    lexical_rank=1,
    lexical_score=3.456,
    matched=("delte", "page"),
    guessed=(("delte", ("delet", "delta")),),
    missing=("blog",),
    dense_rank=3,
    cosine=0.567,
    nearest="delete a page",
    query_coverage=0.75,
    tool_coverage=0.5,
    lexical_confidence=0.4,
    answerable=0.9,
    lexical_above=0.8,
    blended_above=0.3,
    answer_above=0.4,
)


def test_an_explanation_reads_like_one() -> None:
    assert FULL.render() == (
        "delete_page for 'delte the blog page': rank 2, score 0.25 (path blended, confidence 0.50, 45 tools)\n"
        "  lexical  rank 1, BM25 3.46; matched: delte, page\n"
        "           not in its texts: blog\n"
        "           'delte' was read as: delet, delta\n"
        "  dense    rank 3, cosine 0.57; nearest text: 'delete a page'\n"
        "  rerank   0.75 of the request and 0.50 of the tool covered\n"
        "  decision lexical confidence 0.40 (used alone above 0.8, blended above 0.3);"
        " some tool fits: 0.90 (answered above 0.4)"
    )


def test_what_is_not_there_is_not_shown() -> None:
    bare = replace(
        FULL,
        rank=None,
        path="none",
        reason=NOTHING_FITS,
        lexical_rank=None,
        matched=(),
        guessed=(),
        missing=(),
        dense_rank=None,
        cosine=None,
        nearest="",
        parts=("one thing", "another"),
        warnings=("Careful.",),
    )
    assert bare.render() == (
        "delete_page for 'delte the blog page': not in the answer, score 0.25 (path none, confidence 0.50, 45 tools)\n"
        "  lexical  no rank, BM25 3.46; matched: none\n"
        "  decision lexical confidence 0.40 (used alone above 0.8, blended above 0.3);"
        " some tool fits: 0.90 (answered above 0.4)\n"
        "  part     one thing\n"
        "  part     another\n"
        "  reason   No tool fits this request.\n"
        "  warning  Careful."
    )


def test_the_words_of_a_request_are_told_apart() -> None:
    catalog = Catalog([make("delete_page", "Delete a page."), make("list_posts", "List the blog posts.")])
    seen = ToolIndex(catalog, options=SearchOptions(abstain=False)).explain("delet the blog page zzzz", "delete_page")
    assert (seen.matched, seen.missing) == (("delet", "page"), ("blog", "zzzz"))
    assert (seen.lexical_rank, seen.tools) == (1, 2)
    assert seen.lexical_score > 0
    other = ToolIndex(catalog, options=SearchOptions(abstain=False)).explain("delete page", "list_posts")
    assert (other.matched, other.lexical_rank, other.lexical_score) == ((), None, 0.0)


def test_a_guessed_word_is_shown_with_what_it_was_taken_for() -> None:
    catalog = Catalog([make("weather", "Forecast."), make("music", "Songs.")])
    [(word, taken)] = ToolIndex(catalog).explain("wether", "weather").guessed
    assert word == "wether"
    assert taken


def test_the_nearest_text_is_the_phrase_that_was_meant() -> None:
    catalog = Catalog([make("alpha", "Feed animals.", "feline food", "hound food"), make("beta", "Swim.")])
    index = ToolIndex(catalog, Concepts("feline kitten", "hound puppy", "swim"), options=SearchOptions(abstain=False))
    seen = index.explain("puppy", "alpha")
    assert (seen.nearest, seen.dense_rank, seen.path) == ("hound food", 1, "dense")
    assert seen.cosine is not None
    assert index.explain("puppy", "beta").dense_rank == 2


def test_an_explanation_agrees_with_the_search() -> None:
    queries = ["send an e-mail to Bob", "will it rain in Oslo", "how are you?", "get_weather", "mail and music please"]
    for strategies in (sure_above(0.0), sure_above(0.5), sure_above(1.0)):
        index = ToolIndex(office(), strategies=strategies)
        for query in queries:
            found = index.search(query, limit=100)
            for place, hit in enumerate(found.hits, start=1):
                seen = index.explain(query, hit.name)
                assert (seen.path, seen.reason, seen.warnings) == (found.path, found.reason, found.warnings)
                assert seen.confidence == found.confidence
                if not hit.why.startswith("often used with"):
                    assert seen.rank is not None
                    assert seen.rank <= place
                    assert seen.score == hit.score
            assert index.explain(query, "get_weather").path == found.path


def test_meaning_is_shown_even_where_the_words_decided() -> None:
    index = ToolIndex(office(), strategies=sure_above(0.0), options=SearchOptions(abstain=False))
    seen = index.explain("weather forecast", "get_weather")
    assert (seen.path, seen.rank, seen.dense_rank) == ("lexical", 1, 1)
    assert seen.cosine is not None
    assert seen.nearest


def test_a_tool_found_by_name_is_first() -> None:
    seen = ToolIndex(office()).explain("please use get_weather", "get_weather")
    assert (seen.path, seen.rank) == ("exact", 1)


def test_without_a_dense_arm_only_words_are_explained() -> None:
    seen = ToolIndex(office(), options=SearchOptions(arms="lexical")).explain("weather forecast", "get_weather")
    assert (seen.path, seen.rank, seen.dense_rank, seen.cosine, seen.nearest) == ("lexical", 1, None, None, "")


def test_a_tool_without_vectors_is_explained_by_words_and_a_warning() -> None:
    embedder = Concepts("feline kitten")
    catalog = Catalog([make("alpha", "Feed the feline.")])
    index = ToolIndex(catalog, embedder, options=SearchOptions(abstain=False))
    index.search("kitten")
    embedder.down = True
    catalog.add(make("beta", "Walk the hound."))
    seen = index.explain("walk the hound", "beta")
    assert (seen.rank, seen.cosine, seen.nearest) == (1, None, "")
    assert seen.warnings == ("Searched by words alone: The model server does not answer.",)


def test_the_thresholds_are_those_of_the_strategy() -> None:
    index = ToolIndex(office(), strategies=sure_above(0.77, blended_above=0.22, answer_above=0.11))
    seen = index.explain("weather", "get_weather")
    assert (seen.lexical_above, seen.blended_above, seen.answer_above) == (0.77, 0.22, 0.11)
    assert 0 <= seen.lexical_confidence <= 1
    assert 0 <= seen.answerable <= 1


def test_an_empty_request_is_explained_too() -> None:
    seen = ToolIndex(office()).explain("", "get_weather")
    assert (seen.rank, seen.path, seen.matched, seen.missing) == (None, "none", (), ())
    assert seen.reason


def test_an_index_of_words_alone_reads_nothing_by_meaning() -> None:
    catalog = Catalog([make("delete_page", "Delete a page."), make("list_posts", "List the blog posts.")])
    seen = ToolIndex(catalog, options=SearchOptions(arms="lexical")).explain("remove a page", "delete_page")
    assert (seen.cosine, seen.query_coverage, seen.tool_coverage) == (None, 0.0, 0.0)
    assert ToolIndex(catalog).explain("remove a page", "delete_page").query_coverage > 0.5


def test_a_word_that_was_misspelled_is_shown_with_the_one_that_was_meant() -> None:
    found = ToolIndex(office()).explain("trasnlate this docuemnt", "translate_text")
    assert found.guessed == (("trasnlate", ("translate",)), ("docuemnt", ("document",)))
    assert (found.matched, found.missing) == (("trasnlate",), ("docuemnt",))
    assert "'trasnlate' was read as: translate" in found.render()
    right = ToolIndex(office()).explain("translate this document", "translate_text")
    assert (found.score, found.cosine, found.query_coverage) == (right.score, right.cosine, right.query_coverage)
