"""Which arm to believe, request by request.

A fixed rule loses somewhere: reciprocal ranks let a lexical arm that matched one stray word vote as loudly as a dense
arm that is sure, and a lexical arm that has every word of the request needs no second opinion. So a very small network
looks at the signs of the request (`evidence.FEATURES`) and says how much each way of scoring a candidate counts
(`plain.score_matrix`). It was fitted by `training/fit.py` on requests no arm had seen.
"""

import json
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolcrib.search import kernels
from toolcrib.search.dense import ABSENT, DEPTH, Floats, Similarity
from toolcrib.search.lexical import LexicalFeatures, LexicalMatch
from toolcrib.search.rerank import Coverage, LateInteraction

# What both arms say about one request, side by side: candidates with their scores, and signs of how sure each arm is.

READ_AT_LEAST, READ_ONE_MORE_PER = 16, 600  # candidates that are read word by word, and tools for one more
FEATURES = (
    "coverage",  # how much of the request, by rarity, the best lexical tool contains
    "known",  # how much of it the catalog has words for
    "lexical_margin",  # how far the best lexical tool stands before the second
    "lexical_lead",  # and before the fifth
    "dense_top",  # cosine of the nearest tool
    "dense_height",  # how many standard deviations it stands above the mean
    "dense_margin",  # how many before the second
    "dense_lead",  # and before the fifth
    "agreement",  # how many of the best five both arms name
    "same_first",  # whether both name the same tool first
    "length",  # words of the request
    "foreign",  # how much of it is not written in plain Latin letters
    "size",  # tools in the catalog
    "matched",  # how many words of the request the best lexical tool contains
    "spelled",  # and how many of those as they were written, not guessed
    "ties",  # tools nearly as good as the best lexical one
    "lexical_of_nearest",  # what the lexical arm thinks of the nearest tool
    "dense_of_first",  # how high the best lexical tool stands in the dense arm
    "first_gap",  # and how far below the nearest
    "most_asked",  # how much of the request, word by word, the closest tool speaks of
    "most_told",  # how much of the closest tool the request asks for
)


LEXICAL_FEATURES = tuple(FEATURES.index(name) for name in LexicalFeatures._fields)


class Candidates(NamedTuple):
    """The candidates of both arms, and the features of the request as a whole."""

    numbers: NDArray[np.int64]  # first what the lexical arm found, in its order, then what else is near
    lexical: Floats  # 0..1 for each candidate
    dense: Floats  # standard deviations above the mean
    close: Coverage  # the candidates read word by word
    features: Floats  # in the order of FEATURES


def gather(
    match: LexicalMatch, said: LexicalFeatures, nearness: Similarity, meanings: LateInteraction, text: str, depth: int
) -> Candidates:
    """Put side by side what the lexical arm found, how near all tools are, and what the best of both say in detail.

    The first `depth` candidates of each arm are read word by word, or all where they are few.
    """
    room = len(match.numbers) + len(nearness.nearest)
    numbers, columns, features = np.empty(room, dtype=np.int64), np.zeros((4, room)), np.empty(len(FEATURES))
    asked = depth, meanings.request(text)
    count = kernels.gather(
        match.numbers, match.scores, said, *nearness, ABSENT, *asked, *meanings.held, numbers, columns, features
    )
    lexical, dense, *close = columns[:, :count]
    return Candidates(numbers[:count], lexical, dense, Coverage(*close), features)


def rerank_depth(tools: int, *, whole: bool) -> int:
    """How many candidates of each arm are read word by word: of many tools more for a whole request, not for a part."""
    return min(DEPTH, READ_AT_LEAST + tools // READ_ONE_MORE_PER) if whole else READ_AT_LEAST


# The small fitted networks that judge the arms, and the file they are kept in.

WEIGHTS = Path(__file__).with_name("model") / "fusion.json"


class Network(NamedTuple):
    """One hidden layer beside a straight line: `features @ line + tanh(features @ hidden) @ out`."""

    mean: Floats
    spread: Floats
    line: Floats
    hidden: Floats
    hidden_bias: Floats
    out: Floats
    bias: Floats

    @classmethod
    def read(cls, path: Path, name: str) -> "Network":
        """The network kept under `name`."""
        return cls(**fitted(path)[name])


@lru_cache(maxsize=4)
def fitted(path: Path) -> dict[str, dict[str, Floats]]:
    """Everything that was fitted, as arrays."""
    kept: dict[str, dict[str, list[float]]] = json.loads(path.read_text(encoding="utf-8"))
    return {name: {key: np.array(value) for key, value in arrays.items()} for name, arrays in kept.items()}


# What the request as a whole counts against its parts together. With less, single errands told in two sentences suffer.
WHOLE_REQUEST = 0.7
DEEPEST = 200  # no answer is longer


class Fusion:
    """The fitted judge of both arms."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        self._path = path

    def shares(self, evidence: Candidates) -> Floats:
        """How likely each candidate is the one asked for, as far as the arms can tell; adds up to one."""
        shares = np.empty(len(evidence.numbers))
        kernels.shares(evidence.features, evidence.lexical, evidence.dense, *evidence.close, shares, *self._trust)
        return shares

    def ranking(self, whole: Candidates, parts: Sequence[Candidates]) -> list[tuple[int, float]]:
        """Tool numbers with their shares, best first. Each part of a request names a tool of its own."""
        evidence = [whole, *parts]
        shares = [self.shares(one) for one in evidence]
        weights = _weights(shares) if parts else [1.0]
        numbers = [one.numbers for one in evidence]
        return kernels.ranked(numbers, shares, weights, DEEPEST)

    @cached_property
    def _trust(self) -> Network:
        return Network.read(self._path, "trust")


def _weights(shares: Sequence[Floats]) -> list[float]:
    """What the request as a whole counts and what each part.

    The surer side counts more: one errand told in two sentences is clearest as a whole.
    """
    whole, *parts = [float(own.max(initial=0.0)) for own in shares]
    sure, unsure = WHOLE_REQUEST * whole, (1 - WHOLE_REQUEST) * sum(parts) / len(parts)
    weight = sure / (sure + unsure) if sure + unsure else 1.0
    return [weight, *[(1 - weight) / len(parts)] * len(parts)]
