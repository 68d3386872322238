"""Intervals cover the truth, and differences are taken task by task."""

import numpy as np
import pytest

from toolcrib.evals.statistics import difference, estimate


def test_the_interval_covers_the_true_difference_in_about_95_of_100_evals() -> None:
    generator = np.random.default_rng(11)
    covered, evals, truth = 0, 300, -0.1
    for seed in range(evals):
        hard = generator.uniform(0.3, 1.0, size=60)  # tasks differ, as they do
        values: list[dict[str, list[float]]] = []
        for drop in (0.0, truth):
            drawn = generator.random((60, 3)) < np.clip(hard + drop, 0, 1)[:, None]
            values.append({f"task-{at}": row.astype(float).tolist() for at, row in enumerate(drawn)})
        found = difference(values[1], values[0], seed=seed)
        assert found is not None
        covered += found.low <= truth <= found.high
    assert covered / evals == pytest.approx(0.95, abs=0.03)


def test_the_interval_of_a_mean_covers_it() -> None:
    generator = np.random.default_rng(5)
    covered = 0
    for seed in range(300):
        values = {str(at): [value] for at, value in enumerate(generator.normal(2.0, 1.0, size=50).tolist())}
        found = estimate(values, seed=seed)
        assert found is not None
        covered += found.low <= 2.0 <= found.high
    assert covered / 300 == pytest.approx(0.95, abs=0.04)


def test_what_is_the_same_in_both_modes_has_no_difference() -> None:
    values = {"easy": [1.0, 1.0], "hard": [0.0, 0.0], "even": [1.0, 0.0]}
    found = difference(values, values)
    assert found is not None
    assert (found.mean, found.low, found.high, found.tasks) == (0.0, 0.0, 0.0, 3)


def test_a_task_that_only_one_mode_has_done_does_not_count() -> None:
    found = difference({"both": [1.0], "one": [0.0]}, {"both": [0.5]})
    assert found is not None
    assert (found.mean, found.tasks) == (0.5, 1)
    assert difference({"one": [0.0]}, {}) is None
