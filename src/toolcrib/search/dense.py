"""The dense arm: which tools mean what the request means. All are compared; every tool has several vectors."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.coarse_rows import Coarse, CoarseRows, coarse
from toolcrib.search.embedder import Vectors
from toolcrib.search.passages import WHOLE

# Above this, the whole texts choose whose passages are read: a search may not walk through all the memory there is.
# The answer stays the same: of the best five, 998 in 1,000 (requests of the train splits and the MCP catalogue).
EXACT_UP_TO = 300
SHORTLIST, LONGEST_SHORTLIST = 100, 200  # a twentieth of the tools, within these
MIN_WASTE = 256  # rows; less is not worth moving the others for
GROUP = 8  # scores of which only the highest is looked at, to find the highest of all
GONE = -2.0  # the score of a number without a tool: farther than any tool can be


class DenseIndex:
    """Vectors of a changing set of tools. A tool has a number, given by the caller; numbers may be used again.

    `_wholes` has one row a number. `_passages` has the other texts, one block a tool, in the order of coming. Blocks of
    tools that left stay where they are, unread, until half of all rows is waste; then the rest moves together.
    """

    def __init__(self, dimensions: int, *, exact_up_to: int = EXACT_UP_TO, shortlist: int = SHORTLIST) -> None:
        self._exact_up_to = max(exact_up_to, shortlist)
        self._shortlist = shortlist
        self._wholes = CoarseRows(dimensions)
        self._passages = CoarseRows(dimensions)
        self._starts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # where each number's passages begin
        self._ends: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._alive: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._waste = 0
        self._readable: NDArray[np.int64] | None = None  # numbers with passages, in the order of their blocks
        self._gone: NDArray[np.int64] | None = None  # numbers without a tool
        self._bare = False  # whether any number has no tool, or a tool without passages

    def __len__(self) -> int:
        return len(self._alive)

    @property
    def full(self) -> bool:
        """Whether every number has a tool."""
        return not len(self._gone) if self._gone is not None else bool(self._alive.all())

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which numbers have a tool."""
        return self._alive

    def make_room(self, size: int) -> None:
        """Know all numbers below `size`, also those that get their vectors later."""
        missing = size - len(self)
        if missing > 0:
            self._wholes.make_room(size)
            self._starts = np.concatenate([self._starts, np.zeros(missing, dtype=np.int64)])
            self._ends = np.concatenate([self._ends, np.zeros(missing, dtype=np.int64)])
            self._alive = np.concatenate([self._alive, np.zeros(missing, dtype=np.bool_)])
            self._gone = None

    def put(self, numbers: Sequence[int], blocks: Sequence[Vectors]) -> None:
        """Hold tools under these free numbers, a block of vectors each, the first row being the tool as a whole."""
        if not len(numbers):
            return
        self.make_room(max(numbers) + 1)
        places, lengths = np.array(numbers), np.array([len(block) for block in blocks])
        rows = coarse(np.concatenate(blocks))
        ends = lengths.cumsum()
        firsts = ends - lengths
        self._wholes.put(places, rows.at(firsts))
        held = len(self._passages)
        self._passages.extend(rows.at(np.delete(np.arange(int(ends[-1])), firsts)))
        # Each block has left its first row behind, and so have those before it.
        self._ends[places] = held + ends - np.arange(1, len(numbers) + 1)
        self._starts[places] = self._ends[places] - (lengths - 1)
        self._alive[places] = True
        self._readable = self._gone = None

    def remove(self, number: int) -> None:
        """Let a tool be found no more."""
        if number < len(self) and self._alive[number]:
            self._alive[number] = False
            self._waste += int(self._ends[number] - self._starts[number])
            self._readable = self._gone = None
            if self._waste > MIN_WASTE and self._waste * 2 > len(self._passages):
                self._pack()

    def vector(self, number: int) -> Vectors:
        """A tool as a whole."""
        return self._wholes.view.at(np.array([number])).fine()[0]

    def move(self, number: int, vector: Vectors) -> None:
        """Give a tool as a whole another place."""
        self._wholes.put(np.array([number]), coarse(vector[None]))

    def scores(self, queries: Vectors) -> NDArray[np.float32]:
        """How near each tool (column) is to each query (row)."""
        if self._gone is None:
            self._gone = np.flatnonzero(~self._alive)
            self._bare = bool(len(self._gone)) or not bool((self._starts < self._ends).all())
        asked = coarse(queries)
        scores = self._wholes.view.near(asked)
        if len(self._gone):
            scores[:, self._gone] = GONE  # before passages are read: tools that left take no place in the shortlist
        read = self._read_all if len(self) <= self._exact_up_to else self._read_some
        for place, row in enumerate(scores):
            read(Coarse(asked.numbers[place : place + 1], asked.steps[place : place + 1]), row)
        return scores

    def nearest_passage(self, query: Vectors, number: int) -> int:
        """Which of a tool's texts is nearest: 0 for the whole, else the number of the passage."""
        asked = coarse(query[None])
        passages = self._passages.view.at(np.arange(int(self._starts[number]), int(self._ends[number])))
        whole = self._wholes.view.at(np.array([number]))
        return int(np.concatenate([whole.near(asked)[0], passages.near(asked)[0]]).argmax())

    def _read_all(self, asked: Coarse, scores: NDArray[np.float32]) -> None:
        if self._readable is None:
            # Blocks without rows cannot be said to `reduceat`, and those of tools that left end the block before.
            with_rows = np.flatnonzero(self._alive & (self._ends > self._starts))
            self._readable = with_rows[np.argsort(self._starts[with_rows])]
        numbers = self._readable
        if len(numbers):
            near = self._passages.view.near(asked)[0]
            if self._waste:
                bounds = np.stack([self._starts[numbers], self._ends[numbers]], axis=1).ravel()
                near = np.append(near, near[:1])  # an end may be the end of all rows
                _count_nearest(scores, numbers, np.maximum.reduceat(near, bounds)[::2])
            else:
                _count_nearest(scores, numbers, np.maximum.reduceat(near, self._starts[numbers]))

    def _read_some(self, asked: Coarse, scores: NDArray[np.float32]) -> None:
        count = shortlisted(len(self), self._shortlist)
        likely = highest(scores, count)
        starts = self._starts.take(likely)
        lengths = self._ends.take(likely) - starts
        if self._bare:
            kept = self._alive.take(likely) & (lengths > 0)
            likely, starts, lengths = likely[kept], starts[kept], lengths[kept]
        if len(likely):
            ends = lengths.cumsum()
            offsets = ends - lengths
            rows: NDArray[np.int64] = (starts - offsets).repeat(lengths) + np.arange(int(ends[-1]))
            near = self._passages.view.at(rows).near(asked)[0]
            _count_nearest(scores, likely, np.maximum.reduceat(near, offsets))

    def _pack(self) -> None:
        lengths = np.where(self._alive, self._ends - self._starts, 0)
        ends = lengths.cumsum()
        starts = ends - lengths
        kept = self._passages.view.at((self._starts - starts).repeat(lengths) + np.arange(int(ends[-1])))
        self._passages = CoarseRows(kept.numbers.shape[1])
        self._passages.extend(kept)
        self._starts, self._ends, self._waste = starts, ends, 0


def highest(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The places of the `count` highest scores, in any order.

    Of the highest of each group there are at least as many above their own `count`-th: only what reaches that can be
    among them. A third of the time of `argpartition` over all.
    """
    width = len(scores) // GROUP
    if width < 2 * count:
        return scores.argpartition(-count)[-count:]
    tops = scores[: width * GROUP].reshape(GROUP, width).max(axis=0)
    tops.partition(width - count)
    likely = np.flatnonzero(scores >= tops[width - count])
    return likely[scores.take(likely).argpartition(-count)[-count:]]


def shortlisted(tools: int, least: int = SHORTLIST) -> int:
    """Of how many tools the passages are read."""
    return max(least, min(tools // 20, LONGEST_SHORTLIST))


def _count_nearest(scores: NDArray[np.float32], numbers: NDArray[np.int64], nearest: NDArray[np.float32]) -> None:
    """Let the nearest passage count beside the whole, where it is nearer than that."""
    wholes = scores.take(numbers)
    scores[numbers] = WHOLE * wholes + (1 - WHOLE) * np.maximum(wholes, nearest)
