"""Blocks of rows that come and go, against a dictionary of lists."""

import numpy as np
from hypothesis import given, strategies as st

from toolcrib.search.kernels.rows import RowBlocks

Steps = list[tuple[set[int], list[int]]]  # numbers that go, and the lengths of blocks that come
STEPS = st.lists(st.tuples(st.sets(st.integers(0, 12)), st.lists(st.integers(0, 4), max_size=5)), max_size=6)


class SourceTools:
    """The plainest way to keep what belongs to each number, beside the blocks that say where it lies."""

    def __init__(self, shared: int) -> None:
        self.nobodys = [-1] * shared
        self.blocks = RowBlocks(shared=shared)
        self.rows = np.array(self.nobodys)
        self.held: dict[int, list[int]] = {}
        self.came = 0

    def live(self, steps: Steps) -> None:
        for gone, lengths in steps:
            for number in sorted(gone & self.held.keys()):
                self.blocks.remove(number)
                del self.held[number]
            free = [number for number in range(len(self.held) + len(lengths)) if number not in self.held]
            numbers = free[: len(lengths)]
            self.blocks.put(np.array(numbers, dtype=np.int64), np.array(lengths, dtype=np.int64))
            for number, length in zip(numbers, lengths, strict=True):
                self.held[number] = list(range(self.came, self.came + length))
                self.came += length
                self.rows = np.append(self.rows, self.held[number])

    def read(self, numbers: list[int]) -> list[list[int]]:
        rows, starts = self.blocks.at(np.array(numbers, dtype=np.int64))
        return [block.tolist() for block in np.split(self.rows[rows], starts[1:])] if numbers else []

    def expected(self, numbers: list[int]) -> list[list[int]]:
        return [self.held.get(number, self.nobodys) for number in numbers]


@given(STEPS, st.integers(0, 1), st.lists(st.integers(0, 20), max_size=6))
def test_each_number_has_its_own_rows_whatever_came_and_went(steps: Steps, shared: int, asked: list[int]) -> None:
    shelf = SourceTools(shared)
    shelf.live(steps)
    shelf.blocks.make_room(21)
    assert shelf.read(asked) == shelf.expected(asked)
    assert shelf.blocks.lengths().tolist() == [len(block) for block in shelf.expected(list(range(len(shelf.blocks))))]
    assert [shelf.rows[shelf.blocks.of(number)].tolist() for number in asked] == shelf.expected(asked)


@given(STEPS, STEPS, st.integers(0, 1))
def test_packing_moves_the_rows_that_are_read_together_and_drops_the_others(
    before: Steps, after: Steps, shared: int
) -> None:
    shelf = SourceTools(shared)
    shelf.live(before)
    held = sum(map(len, shelf.held.values()))
    assert shelf.blocks.waste == len(shelf.rows) - held - shared
    shelf.rows = shelf.rows[shelf.blocks.pack()]
    assert (len(shelf.rows), shelf.blocks.waste) == (held + shared, 0)
    shelf.live(after)
    shelf.blocks.make_room(21)
    assert shelf.read(list(range(21))) == shelf.expected(list(range(21)))
