"""The innermost loops of a search, in C: what numpy takes a dozen calls for, in one.

Four fifths of a search are the calls themselves. Each loop does what the Python does that stands where it is called,
and that Python goes on where they were not built (`hatch_build.py`): what is found is the same, later.
"""

from array import array
from importlib import import_module
from typing import Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.blocks import Places

Floats32: TypeAlias = NDArray[np.float32]
Floats64: TypeAlias = NDArray[np.float64]


class Compiled(Protocol):
    """The loops. Arrays lie in one piece; the last ones of a call are written to where nothing is returned."""

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
    ) -> None: ...

    def share_met(
        self, word: str, plain: str | None, features: NDArray[np.uint32], starts: NDArray[np.uint32], /
    ) -> float: ...

    def met(self, wanted: list[int], features: NDArray[np.uint32], starts: NDArray[np.uint32], /) -> list[int]: ...

    def one_slip(self, word: str, sums: NDArray[np.uint32], owners: Places, /) -> list[int]: ...

    def holding(self, numbers: list[int], holders: list[list["array[int]"]], /) -> list[list[int]]: ...

    def add_words(self, vectors: list[Floats32], out: Floats32, /) -> None: ...

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
    ) -> None: ...

    def nearest(self, scores: Floats32, depth: int, gone: float, /) -> tuple[tuple[int, ...], int, float, float]: ...

    def gather(
        self,
        named: tuple[int, ...],
        named_scores: tuple[float, ...],
        said: tuple[float, ...],
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
    ) -> int: ...

    def ranked(
        self, numbers: list[Places], shares: list[Floats64], weights: list[float], deepest: int, /
    ) -> list[tuple[int, float]]: ...

    def network(self, features: Floats64, answers: Floats64, /, *fitted: Floats64) -> None: ...

    def shares(
        self,
        features: Floats64,
        lexical: Floats64,
        dense: Floats64,
        asked: Floats64,
        told: Floats64,
        shares: Floats64,
        /,
        *fitted: Floats64,
    ) -> None: ...


def loaded() -> Compiled | None:
    try:
        return cast("Compiled", import_module("toolcrib.search._loops"))
    except ImportError:
        return None


compiled: Compiled | None = loaded()
