"""A matrix that grows."""

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.float32, np.int32, np.int8)


class GrowingRows(Generic[Number]):
    """A matrix that grows by rows without being copied at every step."""

    def __init__(self, columns: int, kind: type[Number]) -> None:
        self._space: NDArray[Number] = np.zeros((16, columns), dtype=kind)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def view(self) -> NDArray[Number]:
        return self._space[: self._used]

    def reserve(self, more: int) -> None:
        """Make room for that many more rows at once."""
        needed = self._used + more
        if needed > len(self._space):
            # An eighth more than before, not twice: the free part is memory too.
            shape = max(needed, len(self._space) * 9 // 8), self._space.shape[1]
            grown = np.zeros(shape, dtype=self._space.dtype)
            grown[: self._used] = self.view
            self._space = grown

    def extend(self, rows: NDArray[Number]) -> None:
        self.reserve(len(rows))
        self._space[self._used : self._used + len(rows)] = rows
        self._used += len(rows)

    def only(self, places: NDArray[np.signedinteger[Any]]) -> "GrowingRows[Number]":
        """Some of the rows, in that order."""
        kept: GrowingRows[Number] = GrowingRows(self._space.shape[1], self._space.dtype.type)
        kept.extend(self.view[places])
        return kept
