"""The dense arm against the plainest computation of the same scores."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from toolcrib.search.dense import GONE, WHOLE, DenseIndex
from toolcrib.search.embedder import Vectors

DIMENSIONS = 6


def unit(rows: NDArray[np.floating]) -> Vectors:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def random_block(generator: np.random.Generator, rows: int) -> Vectors:
    return unit(generator.normal(size=(rows, DIMENSIONS)))


def naive_scores(
    blocks: Sequence[Vectors], gone: set[int], queries: Vectors, shortlist: int | None = None
) -> list[list[float]]:
    """Half the tool as a whole, half its nearest text; passages only of the `shortlist` nearest wholes, if given."""
    rows: list[list[float]] = []
    for query in queries:
        wholes = {number: float(block[0] @ query) for number, block in enumerate(blocks) if number not in gone}
        read = sorted(wholes, key=lambda number: -wholes[number])[:shortlist]
        nearest = {
            number: float((blocks[number] @ query).max()) if number in read else wholes[number] for number in wholes
        }
        rows.append(
            [
                GONE if number in gone else WHOLE * wholes[number] + (1 - WHOLE) * nearest[number]
                for number in range(len(blocks))
            ]
        )
    return rows


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[list[Vectors]], set[int], Vectors]:
    """Tools that come in batches, some of which leave, and queries."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = draw(st.lists(st.lists(st.integers(1, 4), max_size=8), min_size=1, max_size=6))
    batches = [[random_block(generator, size) for size in batch] for batch in sizes]
    count = sum(map(len, batches))
    gone = draw(st.sets(st.integers(0, count - 1))) if count else set[int]()
    return batches, gone, random_block(generator, draw(st.integers(1, 3)))


def filled(index: DenseIndex, batches: Sequence[Sequence[Vectors]], gone: set[int]) -> DenseIndex:
    """The index after every batch was added, each tool of `gone` leaving as soon as it can."""
    for batch in batches:
        before = len(index)
        index.add(batch)
        for number in range(before, len(index)):
            if number in gone:
                index.remove(number)
    return index


@given(histories())
def test_scores_are_those_of_a_naive_computation(history: tuple[list[list[Vectors]], set[int], Vectors]) -> None:
    batches, gone, queries = history
    index = filled(DenseIndex(DIMENSIONS), batches, gone)
    blocks = [block for batch in batches for block in batch]
    scores = index.scores(queries)
    assert (scores.shape, scores.dtype) == ((len(queries), len(blocks)), np.dtype(np.float32))
    np.testing.assert_allclose(scores, np.reshape(naive_scores(blocks, gone, queries), scores.shape), atol=1e-6)
    assert index.alive.tolist() == [number not in gone for number in range(len(blocks))]
    assert len(index) == len(blocks)


@given(histories(), st.integers(1, 5), st.integers(0, 8))
def test_a_large_index_reads_the_passages_of_the_nearest_tools_alone(
    history: tuple[list[list[Vectors]], set[int], Vectors], shortlist: int, exact_up_to: int
) -> None:
    batches, gone, queries = history
    index = filled(DenseIndex(DIMENSIONS, exact_up_to=exact_up_to, shortlist=shortlist), batches, gone)
    blocks = [block for batch in batches for block in batch]
    read = None if len(blocks) <= max(exact_up_to, shortlist) else shortlist
    scores = index.scores(queries)
    np.testing.assert_allclose(scores, np.reshape(naive_scores(blocks, gone, queries, read), scores.shape), atol=1e-6)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_thousands_of_tools_score_as_a_naive_computation_says(seed: int) -> None:
    generator = np.random.default_rng(seed)
    blocks = [random_block(generator, size) for size in generator.integers(1, 4, size=3_300).tolist()]
    gone = set(generator.choice(len(blocks), 500, replace=False).tolist())
    queries = random_block(generator, 2)
    scores = filled(DenseIndex(DIMENSIONS), [blocks], gone).scores(queries)
    np.testing.assert_allclose(scores, naive_scores(blocks, gone, queries, 1_000), atol=1e-6)


def test_tools_that_left_take_no_place_in_the_shortlist() -> None:
    index = DenseIndex(2, exact_up_to=2, shortlist=2)
    near, far = unit(np.array([[1, 0.1]])), unit(np.array([[0, 1], [1, 0]]))
    index.add([near, near, near, far])
    for number in range(3):
        index.remove(number)
    assert index.scores(np.array([[1, 0]], dtype=np.float32)).tolist() == [[GONE, GONE, GONE, 0.5]]


@pytest.mark.parametrize("exact_up_to", [10, 1], ids=["small", "large"])
def test_a_tool_counts_half_as_a_whole_and_half_by_its_nearest_passage(exact_up_to: int) -> None:
    index = DenseIndex(2, exact_up_to=exact_up_to, shortlist=1)
    index.add([np.array([[0.6, 0.8], [1, 0], [0, 1]], dtype=np.float32), np.array([[0, 1]], dtype=np.float32)])
    np.testing.assert_allclose(index.scores(np.array([[1, 0]], dtype=np.float32)), [[0.8, 0]], atol=1e-6)


@pytest.mark.parametrize("exact_up_to", [10, 1], ids=["small", "large"])
def test_tools_without_passages_are_their_whole_text(exact_up_to: int) -> None:
    index = DenseIndex(2, exact_up_to=exact_up_to, shortlist=1)
    index.add([np.array([[0, 1]], dtype=np.float32), np.array([[1, 0]], dtype=np.float32)])
    assert index.scores(np.array([[1, 0]], dtype=np.float32)).tolist() == [[0, 1]]


def test_an_empty_index_has_no_scores() -> None:
    index = DenseIndex(4)
    assert index.scores(np.ones((2, 4), dtype=np.float32)).shape == (2, 0)
    index.add([])
    assert (len(index), index.alive.tolist()) == (0, [])


def test_scores_do_not_change_the_index() -> None:
    generator = np.random.default_rng(7)
    index = filled(DenseIndex(DIMENSIONS), [[random_block(generator, 3) for _ in range(5)]], {2})
    queries = random_block(generator, 2)
    np.testing.assert_array_equal(index.scores(queries), index.scores(queries))


def test_whoever_holds_the_old_state_sees_no_tool_leave() -> None:
    index = DenseIndex(2)
    index.add([np.array([[0, 1]], dtype=np.float32)])
    before = index.alive
    index.remove(0)
    assert (before.tolist(), index.alive.tolist()) == ([True], [False])


def test_a_tool_as_a_whole_is_its_first_vector() -> None:
    generator = np.random.default_rng(7)
    blocks = [random_block(generator, 3) for _ in range(40)]
    index = filled(DenseIndex(DIMENSIONS), [blocks[:1], blocks[1:]], set())
    for number, block in enumerate(blocks):
        np.testing.assert_array_equal(index.vector(number), block[0])


def test_the_nearest_passage_is_named_by_its_place_in_the_tool() -> None:
    index = DenseIndex(2)
    x, y, between = [1, 0], [0, 1], [0.6, 0.8]
    index.add([np.array(rows, dtype=np.float32) for rows in ([x, y], [between], [y, between, x])])
    query = np.array(x, dtype=np.float32)
    assert [index.nearest_passage(query, number) for number in range(3)] == [0, 0, 2]
