"""How near all tools are to a request: who stands first, and how high above the others."""

import numpy as np
import pytest

from tests.support.search import near
from toolcrib.search.dense import ABSENT, DEPTH, MIN_SPREAD, USUAL_MEAN, USUAL_SPREAD, USUAL_TOOLS, Similarity
from toolcrib.search.kernels.plain import z_scores
from toolcrib.search.query import SILENT

pytestmark = pytest.mark.usefixtures("either_way")


def test_the_nearest_tools_come_best_first_and_equals_by_number() -> None:
    seen = near(0.25, 0.75, 0.25, 1.0)
    assert seen.nearest == (3, 1, 0, 2)


def test_tools_that_left_count_nowhere() -> None:
    seen = near(0.5, 0.9, 0.1, gone=(1,))
    assert seen.nearest == (0, 2)
    assert (seen.mean, seen.spread) == (near(0.5, 0.1).mean, near(0.5, 0.1).spread)
    assert seen.scores[1] == ABSENT


def test_an_opposite_tool_is_nearer_than_one_that_left() -> None:
    assert near(-1.0, -1.0, -1.0, gone=(0, 1)).nearest == (2,)


def test_at_most_fifty_tools_are_named() -> None:
    assert near(*(number / 200 for number in range(120))).nearest == tuple(range(119, 119 - DEPTH, -1))


@pytest.mark.parametrize("seen", [near(), near(0.5, gone=(0,)), SILENT], ids=["empty", "all gone", "silent"])
def test_without_tools_nothing_is_near(seen: Similarity) -> None:
    assert seen.nearest == ()


def test_a_few_tools_are_measured_by_what_is_usual() -> None:
    assert near(0.7).mean == pytest.approx((0.7 + USUAL_TOOLS * USUAL_MEAN) / (1 + USUAL_TOOLS))
    assert near(USUAL_MEAN).spread == pytest.approx(USUAL_SPREAD, rel=0.02)


def test_many_tools_are_measured_by_themselves() -> None:
    many = near(*[0.2, 0.4] * 5_000)
    assert (many.mean, many.spread) == pytest.approx((0.3, 0.1), rel=0.01)


def test_copies_of_one_tool_have_the_least_spread() -> None:
    assert near(*[USUAL_MEAN] * 5_000).spread == MIN_SPREAD


def test_z_scores_are_standard_deviations_above_the_mean() -> None:
    scores = np.array([0.4, 0.2], dtype=np.float32)
    assert z_scores(scores, 0.1, 0.05, ABSENT) == pytest.approx([6.0, 2.0], rel=1e-5)


def test_a_tool_whose_vectors_are_still_to_come_is_neither_near_nor_far() -> None:
    scores = np.array([0.4, ABSENT], dtype=np.float32)
    assert z_scores(scores, 0.1, 0.05, ABSENT).tolist() == [pytest.approx(6.0, rel=1e-5), 0]
