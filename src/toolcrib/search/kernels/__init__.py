"""The innermost loops of a search: compiled from C, or in numpy (`plain`) where there was no compiler.

Four fifths of a search in numpy are the calls themselves; a compiled loop does in one call what takes numpy a dozen.
Both forms give the same results. Callers write `kernels.nearest(...)` and know no difference: the choice is made here,
once. `hatch_build.py` builds the compiled form; `plain` is its specification.
"""

from array import array
from importlib import import_module
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.kernels import plain
from toolcrib.search.kernels.rows import Floats32, Floats64, Places

__all__ = [
    "add_features",
    "add_words",
    "collect_candidates",
    "deletion_matches",
    "highest_by_words",
    "known_positions",
    "known_share",
    "matched_words",
    "nearest",
    "network",
    "probabilities",
    "ranked",
    "scores",
]  # the loops


class Kernels(Protocol):
    """What both forms provide. Arrays are contiguous; a call that returns nothing writes to its last ones."""

    def add_features(
        self,
        words: list[str],
        plains: list[str | None],  # None for a run
        features: NDArray[np.uint32],
        starts: NDArray[np.uint32],
        levels: NDArray[np.uint8],
        scales: NDArray[np.float16],
        out: Floats32,
        /,
    ) -> None:
        """The vectors of words, a row each: the rows of their features in the table, added up."""
        ...

    def known_share(
        self, word: str, plain: str | None, features: NDArray[np.uint32], starts: NDArray[np.uint32], /
    ) -> float:
        """The share of a word's n-grams that have a row in the table, 0..1."""
        ...

    def known_positions(
        self, wanted: list[int], features: NDArray[np.uint32], starts: NDArray[np.uint32], /
    ) -> list[int]:
        """The positions of the features that have a row in the table."""
        ...

    def deletion_matches(self, word: str, sums: NDArray[np.uint32], owners: Places, /) -> list[int]:
        """The owners of the hashes of a word and of its forms with one letter deleted."""
        ...

    def highest_by_words(
        self, postings: list["array[int]"], weights: list[float], norms: Floats64, order: Places | None, limit: int, /
    ) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The tools with the highest BM25 scores, and the scores.

        A posting is the number of a tool above 8 bits of how often it has the term; `norms` are by number. Of equal
        scores that comes first which comes first in `order`, the place of each number; without it, the lower number.
        """
        ...

    def matched_words(self, numbers: list[int], holders: list[list["array[int]"]], /) -> list[list[int]]:
        """For each tool the positions of the words it has; `holders` are the sorted postings of each word's terms."""
        ...

    def add_words(self, vectors: list[Floats32], out: Floats32, /) -> None:
        """The vector of a text: the sum of the vectors of its words, scaled to length one."""
        ...

    def scores(
        self,
        query: Floats32,
        wholes: NDArray[np.int8],
        whole_steps: Floats32,
        passages: NDArray[np.int8],
        passage_steps: Floats32,
        starts: Places,
        ends: Places,
        alive: NDArray[np.bool_],
        count: int,
        whole: float,
        gone: float,
        scores: Floats32,
        /,
    ) -> None:
        """The score of each tool for a query; passages are scored for the `count` tools nearest as a whole."""
        ...

    def nearest(
        self, scores: Floats32, depth: int, gone: float, order: Places | None, /
    ) -> tuple[tuple[int, ...], int, float, float]:
        """The nearest tools; then of all present tools their number, the sum of their scores and of the squares."""
        ...

    def collect_candidates(
        self,
        named: tuple[int, ...],
        named_scores: tuple[float, ...],
        lexical_features: tuple[float, ...],
        scores: Floats32,
        nearest: tuple[int, ...],
        mean: float,
        spread: float,
        gone: float,
        depth: int,
        request: list[Floats32],
        starts: Places,
        ends: Places,
        words: NDArray[np.int32],
        directions: Floats32,
        shares: Floats32,
        numbers: Places,
        columns: Floats64,
        features: Floats64,
        /,
    ) -> int:
        """Collects the candidates of both arms; returns their number.

        `columns` has four rows of zeros, as long as `numbers`: lexical, dense, coverage of the query, of the tool.
        """
        ...

    def ranked(
        self,
        numbers: list[Places],
        shares: list[Floats64],
        weights: list[float],
        order: Places | None,
        deepest: int,
        /,
    ) -> list[tuple[int, float]]:
        """The tools of a query and of its parts with the weighted sums of their probabilities, best first."""
        ...

    def network(self, features: Floats64, answers: Floats64, /, *layers: Floats64) -> None:
        """The outputs of a network for some features; `layers` are its arrays."""
        ...

    def probabilities(
        self,
        features: Floats64,
        lexical: Floats64,
        dense: Floats64,
        of_query: Floats64,
        of_tool: Floats64,
        probabilities: Floats64,
        /,
        *layers: Floats64,
    ) -> None:
        """The probability of each candidate; the network gives the weight of each row of `score_matrix`."""
        ...


def load() -> Kernels:
    """The compiled loops, or the plain ones where they were not built."""
    try:
        return cast("Kernels", import_module("toolcrib.search.kernels._loops"))
    except ImportError:
        return plain


_chosen = load()
IS_COMPILED = _chosen is not plain

add_features = _chosen.add_features
known_share = _chosen.known_share
known_positions = _chosen.known_positions
deletion_matches = _chosen.deletion_matches
highest_by_words = _chosen.highest_by_words
matched_words = _chosen.matched_words
add_words = _chosen.add_words
scores = _chosen.scores
nearest = _chosen.nearest
collect_candidates = _chosen.collect_candidates
ranked = _chosen.ranked
network = _chosen.network
probabilities = _chosen.probabilities
