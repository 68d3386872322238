"""Weights in three bits: what is written is what is read."""

from pathlib import Path

import numpy as np

from toolcrib.search.embedders.builtin import BuiltinEmbedder, word_features
from training.quantize import GROUP, dequantize, export, pack, quantize, unpack


def test_packed_weights_come_back() -> None:
    whole = np.random.default_rng(0).integers(-3, 4, size=(9, 64)).astype(np.int8)
    assert pack(whole).shape == (9, 24)
    np.testing.assert_array_equal(unpack(pack(whole)), whole)


def test_zero_and_the_largest_weight_of_a_group_are_exact() -> None:
    table = np.zeros((1, 2 * GROUP), dtype=np.float32)
    table[0, 3], table[0, 4] = 0.75, -0.75
    np.testing.assert_array_equal(dequantize(*quantize(table)), table)


def test_the_embedder_reads_what_was_exported(tmp_path: Path) -> None:
    features = np.unique(np.array(word_features("letter"), dtype=np.uint32))
    table = np.random.default_rng(1).normal(size=(len(features), 64)).astype(np.float32)
    export(tmp_path, features, table)
    kept = dequantize(*quantize(table))
    summed = sum(kept[np.searchsorted(features, feature)] for feature in word_features("letter"))
    np.testing.assert_allclose(
        BuiltinEmbedder(tmp_path).embed_documents(["letter"])[0], summed / np.linalg.norm(summed), rtol=1e-5
    )
