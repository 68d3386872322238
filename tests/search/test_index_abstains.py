"""Requests that no tool serves get none, and a reason."""

import pytest

from tests.support.search import JUNK, cms_tools, office, rows
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import NOTHING_FITS, SearchOptions

AT_MOST = 0.15  # of requests that no tool serves may get one


@pytest.fixture(scope="module")
def cms() -> ToolIndex:
    return ToolIndex(Catalog(cms_tools()))


@pytest.mark.parametrize(
    "query",
    [
        "how are you?",
        "thank you so much!",
        "good morning",
        "was hältst du von Kant?",
        "wie geht es dir?",
        "cześć, jak się masz?",
        "¿cómo estás?",
        "bonjour, ça va ?",
        "come stai?",
        "tudo bem com você?",
        "как дела?",
        "你好吗？",
        "元気ですか？",
        "잘 지내요?",
        "كيف حالك؟",
        "nasılsın?",
    ],
)
def test_small_talk_gets_no_tool_and_a_reason(cms: ToolIndex, query: str) -> None:
    found = cms.search(query)
    assert (found.hits, found.path, found.reason) == ((), "none", NOTHING_FITS)


def test_of_a_hundred_requests_that_no_tool_serves_few_get_one(cms: ToolIndex) -> None:
    junk = rows(JUNK)
    answered = [row["text"] for row in junk if cms.search(row["text"]).hits]
    assert len(junk) >= 100
    assert len({row["lang"] for row in junk}) >= 10
    assert len(answered) / len(junk) <= AT_MOST, answered


def test_what_an_index_would_not_answer_can_still_be_seen(cms: ToolIndex) -> None:
    seen = cms.explain("how are you?", "cms_getPage")
    assert (seen.rank, seen.path, seen.reason) == (None, "none", NOTHING_FITS)
    assert seen.answerable < seen.answer_above


def test_without_abstention_small_talk_gets_the_nearest_tools() -> None:
    assert len(ToolIndex(office(), options=SearchOptions(abstain=False)).search("how are you?").hits) == 5


def test_requests_meant_for_other_tools_are_less_sure_than_those_meant_for_ours() -> None:
    index = ToolIndex(office(), options=SearchOptions(abstain=False))
    meant = index.search("what will the weather be tomorrow in Oslo?").confidence
    assert meant > index.search("compile the kernel with debug symbols").confidence
