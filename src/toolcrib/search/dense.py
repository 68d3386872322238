"""The dense arm: which tools mean what the request means. Exact dot products; every tool has several vectors."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.embedder import Vectors

# A tool counts half as a whole and half by its nearest passage: the nearest alone favours tools with many passages.
WHOLE = 0.5
# Above this, the whole texts choose whose passages are read: a search may not walk through all the memory there is.
EXACT_UP_TO = 3_000
SHORTLIST = 1_000
GONE = -1.0  # the score of a slot whose tool left: as far away as can be


class DenseIndex:
    """Vectors of a changing set of tools. A tool has a number, given by the caller; numbers only grow.

    `_wholes` has one row a number. `_passages` has the other texts, block after block. Rows of tools that left stay
    where they are, unread, until the caller packs everything anew.
    """

    def __init__(self, dimensions: int, *, exact_up_to: int = EXACT_UP_TO, shortlist: int = SHORTLIST) -> None:
        self._exact_up_to = max(exact_up_to, shortlist)
        self._shortlist = shortlist
        self._wholes = _Rows(dimensions)
        self._passages = _Rows(dimensions)
        self._starts: list[int] = []  # where each number's passages begin; they end where the next one's begin
        self._bounds: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._alive: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which numbers still have a tool."""
        return self._alive

    def add(self, blocks: Sequence[Vectors]) -> None:
        """Hold more tools, one block of vectors each, the first row being the tool as a whole."""
        for block in blocks:
            self._starts.append(len(self._passages))
            self._wholes.extend(block[:1])
            self._passages.extend(block[1:])
        self._bounds = np.array([*self._starts, len(self._passages)], dtype=np.int64)
        self._alive = np.concatenate([self._alive, np.ones(len(blocks), dtype=np.bool_)])

    def remove(self, number: int) -> None:
        """Let a tool be found no more."""
        self._alive = self._alive.copy()
        self._alive[number] = False

    def vector(self, number: int) -> Vectors:
        """A tool as a whole."""
        return self._wholes.view[number]

    def scores(self, queries: Vectors) -> NDArray[np.float32]:
        """How near each tool (column) is to each query (row)."""
        whole = queries @ self._wholes.view.T
        whole[:, ~self._alive] = GONE  # before passages are read: tools that left take no place in the shortlist
        best = whole.copy()
        if len(self) <= self._exact_up_to:
            self._read_all(queries, best)
        else:
            for row in range(len(queries)):
                self._read_some(queries[row], best[row])
        whole *= WHOLE
        best *= 1 - WHOLE
        best += whole
        best[:, ~self._alive] = GONE
        return best

    def nearest_passage(self, query: Vectors, number: int) -> int:
        """Which of a tool's texts is nearest: 0 for the whole, else the number of the passage."""
        start, end = self._bounds[number : number + 2]
        block = np.concatenate([self._wholes.view[number : number + 1], self._passages.view[start:end]])
        return int(np.argmax(block @ query))

    def _read_all(self, queries: Vectors, best: NDArray[np.float32]) -> None:
        has_passages = np.flatnonzero(np.diff(self._bounds))
        if len(has_passages):
            near = queries @ self._passages.view.T
            # Numbers without passages have empty blocks, which `reduceat` cannot express: they are left out.
            found = np.maximum.reduceat(near, self._bounds[has_passages], axis=1)
            best[:, has_passages] = np.maximum(best[:, has_passages], found)

    def _read_some(self, query: Vectors, best: NDArray[np.float32]) -> None:
        likely = np.argpartition(best, -self._shortlist)[-self._shortlist :]
        starts, ends = self._bounds[likely], self._bounds[likely + 1]
        likely, starts, ends = (kept[starts < ends] for kept in (likely, starts, ends))
        if len(likely):
            lengths = ends - starts
            offsets = np.cumsum(lengths) - lengths
            rows: NDArray[np.int64] = np.repeat(starts - offsets, lengths) + np.arange(int(lengths.sum()))
            near = self._passages.view[rows] @ query
            best[likely] = np.maximum(best[likely], np.maximum.reduceat(near, offsets))


class _Rows:
    """A matrix that grows by rows without being copied at every step."""

    def __init__(self, dimensions: int) -> None:
        self._space: Vectors = np.zeros((16, dimensions), dtype=np.float32)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def view(self) -> Vectors:
        return self._space[: self._used]

    def extend(self, rows: Vectors) -> None:
        needed = self._used + len(rows)
        if needed > len(self._space):
            # A half more, not twice: the free part is memory too.
            grown = np.zeros((max(needed, len(self._space) * 3 // 2), self._space.shape[1]), dtype=np.float32)
            grown[: self._used] = self.view
            self._space = grown
        self._space[self._used : needed] = rows
        self._used = needed
