"""A matrix that grows."""

import numpy as np

from toolcrib.search.embedder import Vectors


class GrowingRows:
    """A matrix that grows by rows without being copied at every step."""

    def __init__(self, columns: int) -> None:
        self._space: Vectors = np.zeros((16, columns), dtype=np.float32)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def view(self) -> Vectors:
        return self._space[: self._used]

    def reserve(self, more: int) -> None:
        """Make room for that many more rows at once."""
        needed = self._used + more
        if needed > len(self._space):
            # An eighth more than before, not twice: the free part is memory too.
            grown = np.zeros((max(needed, len(self._space) * 9 // 8), self._space.shape[1]), dtype=np.float32)
            grown[: self._used] = self.view
            self._space = grown

    def extend(self, rows: Vectors) -> None:
        self.reserve(len(rows))
        self._space[self._used : self._used + len(rows)] = rows
        self._used += len(rows)
