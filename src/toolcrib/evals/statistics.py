"""Means and differences with bootstrap intervals.

Tasks are what is drawn again, not trials: repetitions of one task are not independent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 4_000
LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over tasks, and the interval in which it lies with 95 % confidence."""

    mean: float
    low: float
    high: float
    tasks: int


def estimate(values: Mapping[str, Sequence[float]], *, seed: int = 0) -> Estimate | None:
    """The mean of what was measured for each task, in one or several repetitions; None if nothing was."""
    means = np.array([sum(held) / len(held) for held in values.values() if held])
    if not len(means):
        return None
    generator = np.random.default_rng(seed)  # fixed: the same run gives the same report
    drawn = means[generator.integers(0, len(means), size=(DRAWS, len(means)))].mean(axis=1)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(mean=float(means.mean()), low=float(low), high=float(high), tasks=len(means))


def difference(
    values: Mapping[str, Sequence[float]], baseline: Mapping[str, Sequence[float]], *, seed: int = 0
) -> Estimate | None:
    """How much more than the baseline, task by task: what both find hard or easy does not count."""
    paired = {
        task: [sum(held) / len(held) - sum(baseline[task]) / len(baseline[task])]
        for task, held in values.items()
        if held and baseline.get(task)
    }
    return estimate(paired, seed=seed)
