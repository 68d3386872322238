"""What both arms say, side by side: candidates and signs that do not depend on an arm's own scale."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.support.search import make, near
from toolcrib.search.dense import DEPTH, Similarity
from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.fusion import FEATURES, LEXICAL_FEATURES, Candidates, collect_candidates, rerank_depth
from toolcrib.search.lexical import LexicalIndex, lexical_features
from toolcrib.search.query import SILENT
from toolcrib.search.rerank import LateInteraction

pytestmark = pytest.mark.usefixtures("either_way")
UNREAD = LateInteraction(BuiltinEmbedder())  # has no words of any tool


def lexical(*texts: str) -> LexicalIndex:
    index = LexicalIndex()
    index.add([(number, make(f"t{number}", text)) for number, text in enumerate(texts)])
    return index


def signs(evidence: Candidates) -> dict[str, float]:
    return dict(zip(FEATURES, evidence.features.tolist(), strict=True))


def asked(
    index: LexicalIndex,
    text: str,
    similarity: Similarity = SILENT,
    *,
    meanings: LateInteraction = UNREAD,
    depth: int = DEPTH,
) -> Candidates:
    match = index.search(text, DEPTH)
    return collect_candidates(match, lexical_features(match, index), similarity, meanings, text, depth)


PAGES = ("create page", "delete page", "create song", "list photos")


def test_candidates_are_those_of_the_words_and_then_those_of_the_meaning() -> None:
    evidence = asked(lexical(*PAGES), "create a page", near(0.1, 0.2, 0.3, 0.9))
    assert evidence.tool_ids.tolist()[0] == 0
    assert sorted(evidence.tool_ids.tolist()) == [0, 1, 2, 3]
    assert evidence.lexical[0] == 1
    assert evidence.lexical[evidence.tool_ids.tolist().index(3)] == 0
    assert evidence.dense.argmax() == evidence.tool_ids.tolist().index(3)


def test_a_request_whose_words_all_stand_in_one_tool_is_covered() -> None:
    index = lexical(*PAGES)
    assert signs(asked(index, "create page"))["coverage"] == 1
    assert 0 < signs(asked(index, "create zzzz"))["coverage"] < 1
    assert signs(asked(index, "zzzz qqqq"))["coverage"] == 0


def test_words_the_catalog_does_not_have_are_unknown() -> None:
    index = lexical(*PAGES)
    assert signs(asked(index, "create page"))["known"] == 1
    assert signs(asked(index, "zzzz qqqq"))["known"] == 0


def test_arms_that_name_the_same_tools_agree() -> None:
    index = lexical(*PAGES)
    agreed = signs(asked(index, "create page", near(0.9, 0.5, 0.4, 0.1)))
    apart = signs(asked(index, "create page", near(0.1, 0.5, 0.4, 0.9)))
    assert (agreed["same_first"], apart["same_first"]) == (1, 0)
    assert agreed["first_gap"] == 0 < apart["first_gap"]
    assert agreed["lexical_of_nearest"] == 1 > apart["lexical_of_nearest"]
    assert agreed["agreement"] == pytest.approx(3 / 5)


def test_margins_are_counted_in_each_arms_own_measure() -> None:
    index = lexical("apple pie", "banana split")
    assert signs(asked(index, "apple", near(0.4, 0.2)))["lexical_margin"] == 1  # nobody else has the word
    assert signs(asked(index, "apple", near(0.4, 0.2)))["dense_margin"] == pytest.approx(0.2 / near(0.4, 0.2).spread)


def test_other_scripts_are_noticed() -> None:
    index = lexical(*PAGES)
    assert signs(asked(index, "создать страницу"))["foreign"] == 1
    assert signs(asked(index, "создать page"))["foreign"] == 0.5


def test_the_lexical_signs_do_not_know_the_dense_arm() -> None:
    index = lexical(*PAGES)
    alone = asked(index, "create page").features[list(LEXICAL_FEATURES)]
    beside = asked(index, "create page", near(0.1, 0.9, 0.2, 0.3)).features[list(LEXICAL_FEATURES)]
    np.testing.assert_array_equal(alone, beside)


@given(
    st.lists(st.floats(-1, 1, width=32), min_size=4, max_size=4),
    st.sets(st.integers(0, 3)),
    st.text(max_size=40) | st.sampled_from(["create page", "delete", "photos song"]),
)
def test_signs_are_numbers_whatever_was_asked(scores: list[float], gone: set[int], text: str) -> None:
    evidence = asked(lexical(*PAGES), text, near(*scores, gone=tuple(gone)))
    assert evidence.features.shape == (len(FEATURES),)
    assert np.isfinite(evidence.features).all()
    assert np.isfinite(evidence.dense).all()
    assert (
        len(set(evidence.tool_ids.tolist())) == len(evidence.tool_ids) == len(evidence.lexical) == len(evidence.dense)
    )


def test_the_first_candidates_of_each_arm_are_read_word_by_word() -> None:
    index = lexical(*(f"page {'word ' * number}" for number in range(60)))
    seen = near(*np.linspace(0.1, 0.9, 200))
    meanings = LateInteraction(BuiltinEmbedder())
    meanings.put((number, ["page", "zebra"]) for number in range(200))
    evidence = asked(index, "page", seen, meanings=meanings, depth=10)
    read = {n for n, share in zip(evidence.tool_ids.tolist(), evidence.close.of_query, strict=True) if share}
    assert read == {*evidence.tool_ids[:10].tolist(), *seen.nearest[:10]}
    assert signs(evidence)["query_coverage"] == pytest.approx(1)
    assert 0 < signs(evidence)["tool_coverage"] < 1
    every = asked(index, "page", seen, meanings=meanings)
    assert (every.close.of_query > 0).all()
    assert len(every.tool_ids) == len(evidence.tool_ids) > len(read)


@pytest.mark.parametrize(
    ("tools", "whole", "depth"), [(45, True, 16), (6_000, True, 26), (6_000, False, 16), (90_000, True, DEPTH)]
)
def test_of_many_tools_more_are_read_for_a_whole_request(tools: int, whole: bool, depth: int) -> None:
    assert rerank_depth(tools, whole=whole) == depth
