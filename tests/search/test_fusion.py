"""Which arm is believed: by hand-made judges first, then by the fitted one."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.support.search import make
from toolcrib.search.dense import Similarity
from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.fusion import FEATURES, Candidates, Fusion, collect_candidates
from toolcrib.search.kernels.plain import SCORE_ROWS, score_matrix
from toolcrib.search.lexical import LexicalIndex, lexical_features
from toolcrib.search.rerank import Coverage, LateInteraction

pytestmark = pytest.mark.usefixtures("either_way")

LEXICAL, DENSE, ASKED, TOLD = 0, 2, 6, 7  # rows of the basis


def evidence(
    lexical: dict[int, float],
    dense: dict[int, float],
    features: list[float] | None = None,
    *,
    asked: dict[int, float] | None = None,
    told: dict[int, float] | None = None,
) -> Candidates:
    numbers = list(dict.fromkeys([*lexical, *dense]))
    sides = [np.array([(side or {}).get(number, 0.0) for number in numbers]) for side in (asked, told)]
    return Candidates(
        tool_ids=np.array(numbers, dtype=np.int64),
        lexical=np.array([lexical.get(number, 0.0) for number in numbers], dtype=np.float64),
        dense=np.array([dense.get(number, 0.0) for number in numbers], dtype=np.float64),
        close=Coverage(*sides),
        features=np.array(features or [0.0] * len(FEATURES)),
    )


def believing(folder: Path, *rows: int) -> Fusion:
    """A judge that gives each of these rows of the basis the same weight, whatever the request."""
    size = len(FEATURES)
    trust = {
        "mean": [0.0] * size,
        "spread": [1.0] * size,
        "line": [[0.0] * SCORE_ROWS] * size,
        "hidden": [[0.0]] * size,
        "hidden_bias": [0.0],
        "out": [[0.0] * SCORE_ROWS],
        "bias": [4.0 if row in rows else 0.0 for row in range(SCORE_ROWS)],
    }
    path = folder / f"fusion-{rows}.json"
    path.write_text(json.dumps({"trust": trust}), encoding="utf-8")
    return Fusion(path)


def order(fusion: Fusion, whole: Candidates, *parts: Candidates) -> list[int]:
    return [number for number, _ in fusion.ranking(whole, parts)]


APART = evidence({1: 1.0, 2: 0.5}, {3: 3.0, 2: 1.0, 1: -1.0})


def test_a_judge_that_believes_one_arm_gives_that_arms_order(tmp_path: Path) -> None:
    assert order(believing(tmp_path, LEXICAL), APART) == [1, 2, 3]
    assert order(believing(tmp_path, DENSE), APART) == [3, 2, 1]


def test_a_judge_may_believe_what_was_read_word_by_word(tmp_path: Path) -> None:
    read = evidence({1: 1.0, 2: 0.5}, {3: 3.0}, asked={2: 0.9, 3: 0.4}, told={3: 0.8, 1: 0.1})
    assert order(believing(tmp_path, ASKED), read) == [2, 3, 1]
    assert order(believing(tmp_path, TOLD), read) == [3, 1, 2]


def test_equals_go_to_the_tool_that_came_first(tmp_path: Path) -> None:
    assert order(believing(tmp_path), evidence({9: 1.0, 4: 0.2}, {7: 3.0})) == [4, 7, 9]


def test_parts_bring_their_own_tools(tmp_path: Path) -> None:
    fusion = believing(tmp_path, LEXICAL)
    whole = evidence({1: 1.0}, {2: 0.0})
    parts = [evidence({1: 1.0}, {}), evidence({5: 1.0}, {})]
    shares = dict(fusion.ranking(whole, parts))
    assert list(shares) == [1, 5, 2]
    assert shares[1] > 2 * shares[5] > 4 * shares[2]
    assert sum(shares.values()) == pytest.approx(1)


def test_a_part_nobody_answers_changes_no_order(tmp_path: Path) -> None:
    fusion = believing(tmp_path, LEXICAL)
    assert order(fusion, APART, evidence({}, {})) == order(fusion, APART)


def test_without_candidates_there_is_no_ranking() -> None:
    assert Fusion().ranking(evidence({}, {}), ()) == []
    assert Fusion().probabilities(evidence({}, {})).shape == (0,)


def test_ranks_count_only_for_tools_that_matched() -> None:
    scored = score_matrix(APART.lexical, APART.dense, *APART.close)
    assert scored.shape == (SCORE_ROWS, 3)
    assert scored[3].tolist() == [1, pytest.approx(0.75), 0]  # by words: the third did not match
    assert scored[4].tolist() == [pytest.approx(0.6), pytest.approx(0.75), 1]  # by meaning


@given(
    st.dictionaries(st.integers(0, 30), st.floats(0, 1), max_size=10),
    st.dictionaries(st.integers(0, 30), st.floats(-10, 60), max_size=10),
    st.lists(st.floats(-20, 60), min_size=len(FEATURES), max_size=len(FEATURES)),
)
def test_the_fitted_judge_gives_shares_that_add_up_to_one(
    lexical: dict[int, float], dense: dict[int, float], features: list[float]
) -> None:
    shares = Fusion().probabilities(evidence(lexical, dense, features))
    assert np.isfinite(shares).all()
    assert (shares >= 0).all()
    assert not len(shares) or shares.sum() == pytest.approx(1)


def test_what_both_arms_put_first_by_far_is_first() -> None:
    lexical = LexicalIndex()
    names = ["send mail", "play music", "book flight", "resize picture", "get weather", "find contact", "pay bill"]
    lexical.add([(number, make(f"t{number}", name)) for number, name in enumerate(names)])
    near = Similarity.of(np.array([0.1, 0.8, 0.2, 0.15, 0.1, 0.05, 0.1], dtype=np.float32), np.ones(7, dtype=np.bool_))
    match = lexical.search("play music", 50)
    meanings = LateInteraction(BuiltinEmbedder())
    meanings.put((number, lexical.words(number)) for number in range(len(lexical)))
    assert (
        order(Fusion(), collect_candidates(match, lexical_features(match, lexical), near, meanings, "play music", 16))[
            0
        ]
        == 1
    )
