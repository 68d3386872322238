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
        """How many of a word's pieces have a row in the table, 0..1."""
        ...

    def known_positions(
        self, wanted: list[int], features: NDArray[np.uint32], starts: NDArray[np.uint32], /
    ) -> list[int]:
        """The places of those features that have a row in the table."""
        ...

    def deletion_matches(self, word: str, sums: NDArray[np.uint32], owners: Places, /) -> list[int]:
        """The owners of the sums that the word has, or one of its forms that lack a letter."""
        ...

    def matched_words(self, numbers: list[int], holders: list[list["array[int]"]], /) -> list[list[int]]:
        """For each tool the places of the words that it has; a word has the tools of each of its terms, in order."""
        ...

    def add_words(self, vectors: list[Floats32], out: Floats32, /) -> None:
        """The vector of a text: those of its words added up and cut to length one."""
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
        """How near each tool is to a query; passages count of the `count` tools that are nearest as a whole."""
        ...

    def nearest(self, scores: Floats32, depth: int, gone: float, /) -> tuple[tuple[int, ...], int, float, float]:
        """The nearest tools; of all that are not gone the number, the sum of scores, and of the squares of these."""
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
        """Both arms side by side; gives how many candidates there are.

        `columns` has four rows of zeros, as long as `numbers`: lexical, dense, coverage of the query, of the tool.
        """
        ...

    def ranked(
        self, numbers: list[Places], shares: list[Floats64], weights: list[float], deepest: int, /
    ) -> list[tuple[int, float]]:
        """The tools of a request and of its parts with their weighed shares added up, best first."""
        ...

    def network(self, features: Floats64, answers: Floats64, /, *layers: Floats64) -> None:
        """What a network makes of some features; `layers` are its arrays."""
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
        """How likely each candidate is the one asked for, by the network that says what each way of scoring counts."""
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
matched_words = _chosen.matched_words
add_words = _chosen.add_words
scores = _chosen.scores
nearest = _chosen.nearest
collect_candidates = _chosen.collect_candidates
ranked = _chosen.ranked
network = _chosen.network
probabilities = _chosen.probabilities
