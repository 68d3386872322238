"""How near every tool is to a request, read off the scores of a dense arm."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.compiled import compiled
from toolcrib.search.dense import GONE, highest

DEPTH = 50  # how many candidates each arm names
MIN_SPREAD = 0.02  # of a catalogue of copies of one tool
USUAL_MEAN, USUAL_SPREAD, USUAL_TOOLS = 0.13, 0.095, 30  # cosines of requests and tools, over the training sets

Floats: TypeAlias = NDArray[np.float64]


class Nearness(NamedTuple):
    """How near every tool is to a request, and where the nearest stand among them."""

    scores: NDArray[np.float32]  # by tool number
    nearest: tuple[int, ...]  # the best DEPTH, best first
    mean: float
    spread: float

    @classmethod
    def of(cls, scores: NDArray[np.float32], alive: NDArray[np.bool_] | None = None) -> "Nearness":
        """Read off the scores of a dense arm; only the tools that are `alive` count, where not all are."""
        if alive is not None:
            scores = np.where(alive, scores, np.float32(GONE))
        nearest, tools, total, squares = (compiled.nearest if compiled else _nearest)(scores, DEPTH, GONE)
        mean, spread = mean_and_spread(total, squares, tools) if tools else (0.0, 1.0)
        return cls(scores=scores, nearest=nearest, mean=mean, spread=spread)

    @property
    def top(self) -> float:
        return float(self.scores[self.nearest[0]]) if self.nearest else 0.0

    @property
    def scores_of_nearest(self) -> tuple[float, ...]:
        nearest: list[float] = self.scores.take(self.nearest[:5]).tolist()
        return tuple(nearest)

    def heights(self, numbers: NDArray[np.int64]) -> Floats:
        """Standard deviations above the mean; a tool whose vectors are still to come is neither near nor far."""
        if not self.nearest:
            return np.zeros(len(numbers))
        scores = self.scores.take(numbers).astype(np.float64)
        heights = (scores - self.mean) / self.spread
        heights[scores <= GONE] = 0.0
        return heights


def _nearest(scores: NDArray[np.float32], depth: int, gone: float) -> tuple[tuple[int, ...], int, float, float]:
    """The best, best first; how many there are in all, the sum of their scores and of the squares of these."""
    present = scores[scores > gone].astype(np.float64)
    if not len(present):
        return (), 0, 0.0, 0.0
    best = highest(scores, min(depth, len(present)))
    ordered = best[(-scores.take(best)).argsort(kind="stable")]  # the smaller number first where scores are equal
    return tuple(ordered[:depth].tolist()), len(present), float(present.sum()), float(present @ present)


def mean_and_spread(total: float, squares: float, tools: int) -> tuple[float, float]:
    """How near tools are to a request in general, from the sum of their scores and of the squares of these."""
    # A few tools say little about that: what is usual counts as some more of them.
    count = tools + USUAL_TOOLS
    mean = (total + USUAL_TOOLS * USUAL_MEAN) / count
    squares += USUAL_TOOLS * (USUAL_MEAN**2 + USUAL_SPREAD**2)
    return mean, max(squares / count - mean * mean, MIN_SPREAD**2) ** 0.5
