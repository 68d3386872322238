"""Scores are summed up, and shown, as a reader expects."""

from pathlib import Path

import pytest

from benchmarks.data import Query
from benchmarks.metrics import calibration_error
from benchmarks.report import best_in_bold, markdown, write_trec
from toolcrib.evals.retrieval import Outcome


@pytest.mark.parametrize(
    ("confidences", "correct", "error"),
    [
        ([1.0, 1.0], [True, True], 0.0),
        ([1.0, 1.0], [False, False], 1.0),
        ([0.5] * 4, [True, False, True, False], 0.0),
        ([0.9, 0.9, 0.1, 0.1], [True, False, False, False], 0.25),
        ([], [], 0.0),
    ],
    ids=["sure and right", "sure and wrong", "half sure, half right", "two bins", "nothing asked"],
)
def test_calibration_error_is_the_gap_between_confidence_and_hit_rate(
    confidences: list[float], correct: list[bool], error: float
) -> None:
    assert calibration_error(confidences, correct) == pytest.approx(error)


def test_a_table_is_markdown_with_the_best_share_in_bold() -> None:
    table = markdown([["set", "a", "b"], best_in_bold(["bfcl", 0.5, 0.811])])

    assert table == "| set | a | b |\n|---|--:|--:|\n| bfcl | 50.0 | **81.1** |"


def test_trec_files_hold_rankings_and_labels(tmp_path: Path) -> None:
    query = Query(id="q 1", text="x", relevant=frozenset({"b"}))

    write_trec(tmp_path, "tiny", "our arm", [Outcome(query=query, names=("a", "b"), took_ms=1)])

    assert (tmp_path / "tiny.our-arm.run").read_text() == "q_1 Q0 a 1 1.0000 our-arm\nq_1 Q0 b 2 0.5000 our-arm\n"
    assert (tmp_path / "tiny.qrels").read_text() == "q_1 0 b 1\n"
