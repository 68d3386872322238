"""Vectors quantized to 8-bit integers: a search over many tools is bound by memory, and these take a quarter of it.

Numpy has no integer dot product for them; SimSIMD has. A score is off by about 0.001, a hundredth of the differences
between tools. Integer sums are exact, so the error is the same on every platform.
"""

from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from simsimd import cdist

# Where each tool's rows lie in arrays that grow at their end: its passages, its words.

Places: TypeAlias = NDArray[np.int64]
Floats32: TypeAlias = NDArray[np.float32]
Floats64: TypeAlias = NDArray[np.float64]
Vectors: TypeAlias = NDArray[np.float32]  # one row per text, each of length one


class RowBlocks:
    """A block of rows per id. The rows of removed ids stay in place, unused, until `pack`.

    An id without rows of its own has the first `shared` rows, which belong to no id.
    """

    def __init__(self, *, shared: int = 0) -> None:
        self._shared = shared
        self._starts: Places = np.zeros(0, dtype=np.int64)
        self._ends: Places = np.zeros(0, dtype=np.int64)
        self._end = shared  # of all rows
        self.waste = 0  # rows of removed ids

    @classmethod
    def of_bounds(cls, starts: Places, ends: Places, rows: int, *, shared: int = 0) -> "RowBlocks":
        """The blocks that start and end there, in so many rows."""
        blocks = cls(shared=shared)
        blocks._starts, blocks._ends, blocks._end = starts, ends, rows
        blocks.waste = rows - shared - int((ends - starts)[starts >= shared].sum())
        return blocks

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def bounds(self) -> tuple[Places, Places]:
        """Where the rows of each id start and end."""
        return self._starts, self._ends

    def make_room(self, size: int) -> None:
        """Make all ids below `size` valid."""
        missing = size - len(self)
        if missing > 0:
            self._starts = np.concatenate([self._starts, np.zeros(missing, dtype=np.int64)])
            self._ends = np.concatenate([self._ends, np.full(missing, self._shared)])

    def put(self, numbers: Places, lengths: Places) -> None:
        """Append a block of rows for each of these unused ids."""
        if len(numbers):
            self.make_room(int(numbers.max()) + 1)
            ends = self._end + lengths.cumsum()
            self._starts[numbers] = ends - lengths
            self._ends[numbers] = ends
            self._end = int(ends[-1])

    def remove(self, number: int) -> None:
        """Remove the block of an id."""
        self.waste += len(self.of(number)) if self._starts[number] >= self._shared else 0
        self._starts[number], self._ends[number] = 0, self._shared

    def of(self, number: int) -> Places:
        """The rows of one id."""
        return np.arange(int(self._starts[number]), int(self._ends[number]))

    def lengths(self) -> Places:
        """How many rows each id has."""
        return self._ends - self._starts

    def at(self, numbers: Places) -> tuple[Places, Places]:
        """The rows of these ids, block after block, and the offset of each block."""
        return block_rows(self._starts, self._ends, numbers)

    def pack(self) -> Places:
        """Compact the blocks; returns the rows that are kept, in their new order."""
        own = np.flatnonzero(self._starts >= self._shared) if self._shared else np.arange(len(self))
        kept, _ = self.at(own)
        lengths = self.lengths()[own]
        self._end, self.waste = self._shared, 0
        self.put(own, lengths)
        return np.concatenate([np.arange(self._shared), kept])


def block_rows(starts: Places, ends: Places, numbers: Places) -> tuple[Places, Places]:
    """The rows of the blocks of these ids, block after block, and the offset of each block."""
    begins = starts.take(numbers)
    lengths = ends.take(numbers) - begins
    behind = lengths.cumsum()
    offsets = behind - lengths
    return (begins - offsets).repeat(lengths) + np.arange(int(behind[-1]) if len(behind) else 0), offsets


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

    def hold(self, rows: NDArray[Number]) -> None:
        """Have these rows and no others, without a copy of them."""
        self._space, self._used = rows, len(rows)

    def only(self, places: NDArray[np.signedinteger[Any]]) -> "GrowingRows[Number]":
        """Some of the rows, in that order."""
        kept: GrowingRows[Number] = GrowingRows(self._space.shape[1], self._space.dtype.type)
        kept.extend(self.view[places])
        return kept


LARGEST = 127


class Quantized(NamedTuple):
    """Vectors as rows of 8-bit integers, and the quantization step of each row."""

    numbers: NDArray[np.int8]
    steps: NDArray[np.float32]

    def fine(self) -> Vectors:
        """The dequantized vectors."""
        return self.numbers * self.steps[:, None]

    def at(self, places: NDArray[np.int64]) -> "Quantized":
        """Some of the rows."""
        return Quantized(self.numbers.take(places, axis=0), self.steps.take(places))

    def near(self, queries: "Quantized") -> NDArray[np.float32]:
        """The dot product of each query (row) with each of these vectors (column)."""
        if not len(queries.numbers) or not len(self.numbers):
            return np.zeros((len(queries.numbers), len(self.numbers)), dtype=np.float32)
        # Not into an array of ours: `out=` miscounts the references to None, which ends the process sooner or later.
        near = np.asarray(cdist(queries.numbers, self.numbers, "dot", out_dtype="float32"))
        near *= self.steps
        near *= queries.steps[:, None]
        return near


class QuantizedRows:
    """Quantized vectors, growing by rows."""

    def __init__(self, dimensions: int) -> None:
        self._numbers = GrowingRows(dimensions, np.int8)
        self._steps = GrowingRows(1, np.float32)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def view(self) -> Quantized:
        return Quantized(self._numbers.view, self._steps.view.ravel())

    def extend(self, rows: Quantized) -> None:
        self._numbers.extend(rows.numbers)
        self._steps.extend(rows.steps[:, None])

    def hold(self, rows: Quantized) -> None:
        """Have these rows and no others, without a copy of them."""
        self._numbers.hold(rows.numbers)
        self._steps.hold(rows.steps[:, None])

    def make_room(self, size: int) -> None:
        """Have at least that many rows, the new ones of zeros."""
        missing = max(0, size - len(self))
        self.extend(quantize(np.zeros((missing, self._numbers.view.shape[1]), dtype=np.float32)))

    def only(self, places: NDArray[np.int64]) -> "QuantizedRows":
        """Some of the rows, in that order."""
        kept = QuantizedRows(self._numbers.view.shape[1])
        kept.extend(self.view.at(places))
        return kept

    def put(self, places: NDArray[np.int64], rows: Quantized) -> None:
        """Write over some rows."""
        self._numbers.view[places] = rows.numbers
        self._steps.view[places, 0] = rows.steps


def quantize(vectors: Vectors) -> Quantized:
    """The vectors quantized, each row with a step of its own."""
    steps = np.abs(vectors).max(axis=1, initial=0.0) / LARGEST
    steps[steps == 0] = 1.0
    return Quantized(np.rint(vectors / steps[:, None]).astype(np.int8), steps)
