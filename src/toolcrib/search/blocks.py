"""Where each tool's rows lie in arrays that grow at their end: its passages, its words."""

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


class Blocks:
    """A block of rows a number. Blocks of numbers that left stay where they are, unread, until all move together.

    A number without rows of its own has the first `shared` rows of all, which belong to nobody.
    """

    def __init__(self, *, shared: int = 0) -> None:
        self._shared = shared
        self._starts: Places = np.zeros(0, dtype=np.int64)
        self._ends: Places = np.zeros(0, dtype=np.int64)
        self._end = shared  # of all rows
        self.waste = 0  # rows of numbers that left

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def bounds(self) -> tuple[Places, Places]:
        """Where the rows of each number begin and end."""
        return self._starts, self._ends

    def make_room(self, size: int) -> None:
        """Know all numbers below `size`."""
        missing = size - len(self)
        if missing > 0:
            self._starts = np.concatenate([self._starts, np.zeros(missing, dtype=np.int64)])
            self._ends = np.concatenate([self._ends, np.full(missing, self._shared)])

    def put(self, numbers: Places, lengths: Places) -> None:
        """Give each of these free numbers so many rows, one block behind the other, behind all there are."""
        if len(numbers):
            self.make_room(int(numbers.max()) + 1)
            ends = self._end + lengths.cumsum()
            self._starts[numbers] = ends - lengths
            self._ends[numbers] = ends
            self._end = int(ends[-1])

    def remove(self, number: int) -> None:
        """Let a number go."""
        self.waste += len(self.of(number)) if self._starts[number] >= self._shared else 0
        self._starts[number], self._ends[number] = 0, self._shared

    def of(self, number: int) -> Places:
        """The rows of one number."""
        return np.arange(int(self._starts[number]), int(self._ends[number]))

    def lengths(self) -> Places:
        """How many rows each number has."""
        return self._ends - self._starts

    def at(self, numbers: Places) -> tuple[Places, Places]:
        """The rows of these numbers, one block behind the other, and where each block begins among them."""
        starts = self._starts.take(numbers)
        lengths = self._ends.take(numbers) - starts
        ends = lengths.cumsum()
        offsets = ends - lengths
        return (starts - offsets).repeat(lengths) + np.arange(int(ends[-1]) if len(ends) else 0), offsets

    def pack(self) -> Places:
        """Move all blocks together; gives the rows that stay, in their new order."""
        own = np.flatnonzero(self._starts >= self._shared) if self._shared else np.arange(len(self))
        kept, _ = self.at(own)
        lengths = self.lengths()[own]
        self._end, self.waste = self._shared, 0
        self.put(own, lengths)
        return np.concatenate([np.arange(self._shared), kept])
