"""Vectors in whole numbers against the vectors they stand for."""

import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

from toolcrib.search.kernels.rows import Quantized, QuantizedRows, Vectors, quantize


def units(seed: int, rows: int, dimensions: int) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(rows, dimensions))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 3))
def test_products_are_those_of_the_rounded_vectors(seed: int, dimensions: int, queries: int) -> None:
    rows, asked = quantize(units(seed, 40, dimensions)), quantize(units(seed + 1, queries, dimensions))
    whole = asked.numbers.astype(np.int64) @ rows.numbers.astype(np.int64).T
    expected = whole.astype(np.float32) * rows.steps * asked.steps[:, None]
    np.testing.assert_array_equal(rows.near(asked), expected)
    np.testing.assert_allclose(rows.near(asked), asked.fine() @ rows.fine().T, atol=1e-6)


def test_a_score_is_off_by_a_few_thousandths_at_most() -> None:
    rows, asked = units(1, 5_000, 256), units(2, 20, 256)
    off = np.abs(quantize(rows).near(quantize(asked)) - asked @ rows.T)
    assert off.max() < 0.005
    assert off.mean() < 0.001


@pytest.mark.parametrize("largest", [1.0, -1.0, 1e-6, 1e3])
def test_the_largest_number_of_a_row_is_kept_whatever_its_size(largest: float) -> None:
    vectors = np.array([[largest, largest / 2, 0]], dtype=np.float32)
    np.testing.assert_allclose(quantize(vectors).fine(), vectors, rtol=0.01)


def test_a_vector_of_zeros_is_near_nothing() -> None:
    nothing = quantize(np.zeros((1, 8), dtype=np.float32))
    assert quantize(units(3, 4, 8)).near(nothing).tolist() == [[0, 0, 0, 0]]
    assert nothing.fine().tolist() == [[0] * 8]


def test_no_rows_and_no_queries_have_no_products() -> None:
    some, none = quantize(units(4, 3, 8)), quantize(np.zeros((0, 8), dtype=np.float32))
    assert (none.near(some).shape, some.near(none).shape) == ((3, 0), (0, 3))


def test_rows_are_added_written_over_and_read_back() -> None:
    vectors = quantize(units(5, 30, 8))
    rows = QuantizedRows(8)
    rows.make_room(2)
    rows.extend(vectors)
    rows.put(np.array([1, 0]), vectors.at(np.array([7, 9])))
    rows.make_room(5)
    assert len(rows) == 32
    order = np.array([9, 7, *range(30)])
    for kept, expected in zip(rows.view, vectors.at(order), strict=True):
        np.testing.assert_array_equal(kept, expected)


def test_products_neither_lose_nor_leak_references() -> None:
    rows = quantize(units(6, 10, 8))
    before = sys.getrefcount(None), sys.getrefcount(rows.numbers)
    for _ in range(2_000):
        rows.near(Quantized(rows.numbers[:1], rows.steps[:1]))
    after = sys.getrefcount(None), sys.getrefcount(rows.numbers)
    assert all(abs(now - then) < 1_000 for now, then in zip(after, before, strict=True))
