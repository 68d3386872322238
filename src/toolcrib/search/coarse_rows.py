"""Vectors in whole numbers from -127 to 127: a search over many tools takes as long as it takes to walk through them.

That is a quarter of the way, and numpy has no product for it: SimSIMD has. A score is off by about a thousandth, a
hundredth of what lies between tools, and since sums of whole numbers are exact, off by the same on every platform.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from simsimd import cdist

from toolcrib.search.embedder import Vectors
from toolcrib.search.growing_rows import GrowingRows

LARGEST = 127


class Coarse(NamedTuple):
    """Vectors, a row each: whole numbers, and what one of them stands for in that row."""

    numbers: NDArray[np.int8]
    steps: NDArray[np.float32]

    def fine(self) -> Vectors:
        """The vectors as they are understood."""
        return self.numbers * self.steps[:, None]

    def at(self, places: NDArray[np.int64]) -> "Coarse":
        """Some of the rows."""
        return Coarse(self.numbers.take(places, axis=0), self.steps.take(places))

    def near(self, queries: "Coarse") -> NDArray[np.float32]:
        """The dot product of each query (row) with each of these vectors (column)."""
        if not len(queries.numbers) or not len(self.numbers):
            return np.zeros((len(queries.numbers), len(self.numbers)), dtype=np.float32)
        # Not into an array of ours: `out=` miscounts the references to None, which ends the process sooner or later.
        near = np.asarray(cdist(queries.numbers, self.numbers, "dot", out_dtype="float32"))
        near *= self.steps
        near *= queries.steps[:, None]
        return near


class CoarseRows:
    """Coarse vectors that more are added to."""

    def __init__(self, dimensions: int) -> None:
        self._numbers = GrowingRows(dimensions, np.int8)
        self._steps = GrowingRows(1, np.float32)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def view(self) -> Coarse:
        return Coarse(self._numbers.view, self._steps.view.ravel())

    def extend(self, rows: Coarse) -> None:
        self._numbers.extend(rows.numbers)
        self._steps.extend(rows.steps[:, None])

    def make_room(self, size: int) -> None:
        """Have at least that many rows, the new ones of zeros."""
        missing = max(0, size - len(self))
        self.extend(coarse(np.zeros((missing, self._numbers.view.shape[1]), dtype=np.float32)))

    def only(self, places: NDArray[np.int64]) -> "CoarseRows":
        """Some of the rows, in that order."""
        kept = CoarseRows(self._numbers.view.shape[1])
        kept.extend(self.view.at(places))
        return kept

    def put(self, places: NDArray[np.int64], rows: Coarse) -> None:
        """Write over some rows."""
        self._numbers.view[places] = rows.numbers
        self._steps.view[places, 0] = rows.steps


def coarse(vectors: Vectors) -> Coarse:
    """The nearest vectors in whole numbers."""
    steps = np.abs(vectors).max(axis=1, initial=0.0) / LARGEST
    steps[steps == 0] = 1.0
    return Coarse(np.rint(vectors / steps[:, None]).astype(np.int8), steps)
