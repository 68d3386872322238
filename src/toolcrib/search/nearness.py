"""How near every tool is to a request, read off the scores of a dense arm."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.dense import GONE, highest

DEPTH = 50  # how many candidates each arm names
MIN_SPREAD = 0.02  # of a catalogue of copies of one tool
USUAL_MEAN, USUAL_SPREAD, USUAL_TOOLS = 0.13, 0.095, 30  # cosines of requests and tools, over the training sets

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """How near every tool is to a request, and where the nearest stand among them."""

    scores: NDArray[np.float32]  # by tool number
    nearest: tuple[int, ...]  # the best DEPTH, best first
    mean: float
    spread: float

    @classmethod
    def of(cls, scores: NDArray[np.float32], alive: NDArray[np.bool_] | None = None) -> "Nearness":
        """Read off the scores of a dense arm; only the tools that are `alive` count, where not all are."""
        present = scores
        if alive is not None:
            present = scores[alive]
            scores = np.where(alive, scores, np.float32(GONE))
        if not len(present):
            return cls(scores=scores, nearest=(), mean=0.0, spread=1.0)
        count = min(DEPTH, len(present))
        best = highest(scores, count)
        best.sort()  # then the smaller number stands first where scores are equal
        ordered = best[(-scores.take(best)).argsort(kind="stable")]
        mean, spread = mean_and_spread(float(present.sum()), float(present @ present), len(present))
        return cls(scores=scores, nearest=tuple(ordered.tolist()), mean=mean, spread=spread)

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


def mean_and_spread(total: float, squares: float, tools: int) -> tuple[float, float]:
    """How near tools are to a request in general, from the sum of their scores and of the squares of these."""
    # A few tools say little about that: what is usual counts as some more of them.
    count = tools + USUAL_TOOLS
    mean = (total + USUAL_TOOLS * USUAL_MEAN) / count
    squares += USUAL_TOOLS * (USUAL_MEAN**2 + USUAL_SPREAD**2)
    return mean, max(squares / count - mean * mean, MIN_SPREAD**2) ** 0.5
