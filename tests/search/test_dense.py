"""The dense arm against the plainest computation of the same scores."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from toolcrib.search.dense import ABSENT, EXACT_UP_TO, MIN_WASTE, WHOLE, DenseIndex, shortlisted
from toolcrib.search.kernels.plain import highest
from toolcrib.search.kernels.rows import Vectors, quantize

pytestmark = pytest.mark.usefixtures("either_way")

DIMENSIONS = 6
X = np.array([[1, 0]], dtype=np.float32)


def unit(rows: NDArray[np.floating]) -> Vectors:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def random_block(generator: np.random.Generator, rows: int) -> Vectors:
    return unit(generator.normal(size=(rows, DIMENSIONS)))


def block(*rows: list[float]) -> Vectors:
    return np.array(rows, dtype=np.float32)


def naive_scores(
    held: Mapping[int, Vectors], size: int, queries: Vectors, shortlist: int | None = None
) -> list[list[float]]:
    """Half the tool as a whole, half its nearest text; passages only of the `shortlist` nearest wholes, if given."""
    rows: list[list[float]] = []
    held = {number: quantize(texts).fine() for number, texts in held.items()}
    for query in quantize(queries).fine():
        wholes = {number: float(texts[0] @ query) for number, texts in held.items()}
        read = sorted(wholes, key=lambda number: -wholes[number])[:shortlist]
        nearest = {n: float((held[n] @ query).max()) if n in read else wholes[n] for n in wholes}
        rows.append(
            [
                WHOLE * wholes[number] + (1 - WHOLE) * nearest[number] if number in held else ABSENT
                for number in range(size)
            ]
        )
    return rows


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[tuple[set[int], list[Vectors]]], Vectors]:
    """Steps, each of tools that leave and of tools that come, and queries."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    steps = draw(
        st.lists(
            st.tuples(st.sets(st.integers(0, 20)), st.lists(st.integers(1, 4), max_size=8)), min_size=1, max_size=6
        )
    )
    blocks = [(gone, [random_block(generator, size) for size in sizes]) for gone, sizes in steps]
    return blocks, random_block(generator, draw(st.integers(1, 3)))


def lived(index: DenseIndex, steps: list[tuple[set[int], list[Vectors]]]) -> dict[int, Vectors]:
    """The tools an index holds after some steps; numbers of tools that left are given again."""
    held: dict[int, Vectors] = {}
    free: list[int] = []
    for gone, blocks in steps:
        for number in gone & held.keys():
            index.remove(number)
            del held[number]
            free.append(number)
        numbers = [free.pop() if free else fresh for fresh in range(len(index), len(index) + len(blocks))]
        index.put(numbers, blocks)
        held.update(zip(numbers, blocks, strict=True))
    return held


@given(histories())
def test_scores_are_those_of_a_naive_computation(history: tuple[list[tuple[set[int], list[Vectors]]], Vectors]) -> None:
    steps, queries = history
    index = DenseIndex(DIMENSIONS)
    held = lived(index, steps)
    scores = index.scores(queries)
    assert (scores.shape, scores.dtype) == ((len(queries), len(index)), np.dtype(np.float32))
    expected = np.reshape(naive_scores(held, len(index), queries), scores.shape)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert index.alive.tolist() == [number in held for number in range(len(index))]


@given(histories(), st.integers(1, 5), st.integers(0, 8))
def test_a_large_index_reads_the_passages_of_the_nearest_tools_alone(
    history: tuple[list[tuple[set[int], list[Vectors]]], Vectors], shortlist: int, exact_up_to: int
) -> None:
    steps, queries = history
    index = DenseIndex(DIMENSIONS, exact_up_to=exact_up_to, shortlist=shortlist)
    held = lived(index, steps)
    read = None if len(index) <= max(exact_up_to, shortlist) else shortlisted(len(index), shortlist)
    scores = index.scores(queries)
    expected = np.reshape(naive_scores(held, len(index), queries, read), scores.shape)
    np.testing.assert_allclose(scores, expected, atol=1e-6)


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1))
def test_thousands_of_tools_score_as_a_naive_computation_says(seed: int) -> None:
    generator = np.random.default_rng(seed)
    blocks = [random_block(generator, size) for size in generator.integers(1, 4, size=3_300).tolist()]
    gone = set(generator.choice(len(blocks), 500, replace=False).tolist())
    queries = random_block(generator, 2)
    index = DenseIndex(DIMENSIONS)
    index.put(range(len(blocks)), blocks)
    assert len(index) > EXACT_UP_TO
    for number in gone:
        index.remove(number)
    held = {number: texts for number, texts in enumerate(blocks) if number not in gone}
    np.testing.assert_allclose(
        index.scores(queries), naive_scores(held, len(blocks), queries, shortlisted(len(blocks))), atol=1e-6
    )


def test_rows_of_tools_that_left_are_packed_away_without_a_change_to_any_score() -> None:
    generator = np.random.default_rng(7)
    index = DenseIndex(DIMENSIONS)
    held = {number: random_block(generator, 1 + number % 9) for number in range(200)}
    index.put(list(held), list(held.values()))
    queries = random_block(generator, 2)
    everything = sum(len(texts) - 1 for texts in held.values())
    assert everything > 2 * MIN_WASTE  # or nothing would ever be packed
    for number in range(0, 200, 3):
        for gone in (number, number + 1):
            index.remove(gone)
            held.pop(gone, None)
        np.testing.assert_allclose(index.scores(queries), naive_scores(held, 200, queries), atol=1e-6)
    again = {number: random_block(generator, 3) for number in (0, 1, 3)}
    index.put(list(again), list(again.values()))
    held |= again
    np.testing.assert_allclose(index.scores(queries), naive_scores(held, 200, queries), atol=1e-6)
    for number, texts in held.items():
        np.testing.assert_array_equal(index.vector(number), quantize(texts).fine()[0])
        assert index.nearest_passage(queries[0], number) == int(
            np.argmax(quantize(texts).fine() @ quantize(queries).fine()[0])
        )


def test_a_number_may_be_used_again_by_another_tool() -> None:
    index = DenseIndex(2)
    index.put([0, 1], [block([1, 0], [1, 0]), block([0, 1])])
    index.remove(0)
    index.put([0], [block([0, 1], [0, 1])])
    assert index.scores(X).tolist() == [[0, 0]]


def test_tools_that_left_take_no_place_in_the_shortlist() -> None:
    index = DenseIndex(2, exact_up_to=2, shortlist=2)
    near, far = unit(np.array([[1, 0.1]])), unit(np.array([[0, 1], [1, 0]]))
    index.put(range(4), [near, near, near, far])
    for number in range(3):
        index.remove(number)
    assert index.scores(X).tolist() == [[ABSENT, ABSENT, ABSENT, 0.5]]


def test_no_tool_is_as_far_away_as_one_that_left() -> None:
    index = DenseIndex(2)
    index.put([0, 1], [block([-1, 0], [-1, 0]), block([1, 0])])
    index.remove(1)
    [[opposite, gone]] = index.scores(X).tolist()
    assert opposite == -1 > gone


def test_a_tool_that_left_or_never_came_can_leave_again() -> None:
    index = DenseIndex(2)
    index.put([0], [block([1, 0], [0, 1])])
    for number in (0, 0, 5):
        index.remove(number)
    assert index.alive.tolist() == [False]
    assert index.scores(X).tolist() == [[ABSENT]]


def test_room_is_made_for_tools_whose_vectors_come_later() -> None:
    index = DenseIndex(2)
    index.put([0], [block([1, 0])])
    index.make_room(3)
    index.make_room(2)
    assert (len(index), index.alive.tolist()) == (3, [True, False, False])
    assert index.scores(X).tolist() == [[1, ABSENT, ABSENT]]
    index.put([2], [block([1, 0], [1, 0])])
    assert index.scores(X).tolist() == [[1, ABSENT, 1]]


@pytest.mark.parametrize("exact_up_to", [10, 1], ids=["small", "large"])
def test_a_tool_counts_half_as_a_whole_and_half_by_its_nearest_passage(exact_up_to: int) -> None:
    index = DenseIndex(2, exact_up_to=exact_up_to, shortlist=1)
    index.put([0, 1], [block([0.6, 0.8], [1, 0], [0, 1]), block([0, 1])])
    np.testing.assert_allclose(index.scores(X), [[0.8, 0]], atol=2e-3)


@pytest.mark.parametrize("exact_up_to", [10, 1], ids=["small", "large"])
def test_tools_without_passages_are_their_whole_text(exact_up_to: int) -> None:
    index = DenseIndex(2, exact_up_to=exact_up_to, shortlist=1)
    index.put([0, 1], [block([0, 1]), block([1, 0])])
    assert index.scores(X).tolist() == [[0, 1]]


def test_a_tool_as_a_whole_can_be_moved_while_its_passages_stay() -> None:
    index = DenseIndex(2)
    index.put([0], [block([0, 1], [0.6, 0.8])])
    index.replace_vector(0, np.array([1, 0], dtype=np.float32))
    assert index.vector(0).tolist() == [1, 0]
    np.testing.assert_allclose(index.scores(np.concatenate([X, X[:, ::-1]])), [[1], [0.4]], atol=2e-3)


def test_an_empty_index_has_no_scores() -> None:
    index = DenseIndex(4)
    assert index.scores(np.ones((2, 4), dtype=np.float32)).shape == (2, 0)
    index.put([], [])
    assert (len(index), index.alive.tolist()) == (0, [])


def test_scores_do_not_change_the_index() -> None:
    generator = np.random.default_rng(7)
    index = DenseIndex(DIMENSIONS)
    index.put(range(5), [random_block(generator, 3) for _ in range(5)])
    index.remove(2)
    queries = random_block(generator, 2)
    np.testing.assert_array_equal(index.scores(queries), index.scores(queries))


def test_a_vector_that_was_handed_out_is_the_callers() -> None:
    index = DenseIndex(2)
    index.put([0], [block([1, 0])])
    index.vector(0)[:] = 5
    assert index.vector(0).tolist() == [1, 0]


def test_the_nearest_passage_is_named_by_its_place_in_the_tool() -> None:
    index = DenseIndex(2)
    x, y, between = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]
    index.put(range(3), [block(*rows) for rows in ([x, y], [between], [y, between, x])])
    assert [index.nearest_passage(X[0], number) for number in range(3)] == [0, 0, 2]


@pytest.mark.parametrize(("tools", "read"), [(301, 100), (2_000, 100), (3_000, 150), (4_000, 200), (100_000, 200)])
def test_of_more_tools_more_passages_are_read_up_to_a_point(tools: int, read: int) -> None:
    assert shortlisted(tools) == read


@given(st.integers(1, 60), st.integers(0, 2**32 - 1), st.integers(1, 50))
def test_the_highest_are_those_that_sorting_finds(count: int, seed: int, values: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.integers(0, values, size=count + int(generator.integers(0, 2_000))).astype(np.float32)
    found = highest(scores, count)
    least = sorted(scores.tolist())[-count]
    assert found.tolist() == [place for place, score in enumerate(scores.tolist()) if score >= least]
