"""Fusion of both arms, weighted query by query.

No fixed rule works everywhere: reciprocal rank fusion gives a lexical arm that matched one stray word the same vote as
a confident dense arm, and when the lexical arm has every word of the query the dense arm adds only noise. So a very
small network reads the features of the query (`FEATURES`) and weighs the ways of scoring a candidate
(`plain.score_matrix`). `training/fit.py` fitted it on queries that neither arm had seen.
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
from toolcrib.search.kernels.rows import Places
from toolcrib.search.lexical import LexicalFeatures, LexicalMatch
from toolcrib.search.rerank import Coverage, LateInteraction

# The candidates of both arms with their scores, and features that tell how confident each arm is.

READ_AT_LEAST, READ_ONE_MORE_PER = 16, 600  # candidates that are reranked, and tools for one more
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
    "query_coverage",  # the largest share of the query, word by word, that a candidate covers
    "tool_coverage",  # the largest share of a candidate that the query covers
)


LEXICAL_FEATURES = tuple(FEATURES.index(name) for name in LexicalFeatures._fields)


class Candidates(NamedTuple):
    """The candidates of both arms, and the features of the request as a whole."""

    tool_ids: NDArray[np.int64]  # tool ids: first those of the lexical arm, in its order, then the other near ones
    lexical: Floats  # 0..1 for each candidate
    dense: Floats  # standard deviations above the mean
    close: Coverage  # word by word
    features: Floats  # in the order of FEATURES


def collect_candidates(
    match: LexicalMatch,
    lexical_features: LexicalFeatures,
    similarity: Similarity,
    meanings: LateInteraction,
    text: str,
    depth: int,
) -> Candidates:
    """Collects the candidates of both arms with their scores, and computes the features of the query.

    The first `depth` candidates of each arm are reranked word by word, or all where they are few.
    """
    room = len(match.tool_ids) + len(similarity.nearest)
    tool_ids, columns, features = np.empty(room, dtype=np.int64), np.zeros((4, room)), np.empty(len(FEATURES))
    count = kernels.collect_candidates(
        match.tool_ids,
        match.scores,
        lexical_features,
        *similarity,
        ABSENT,
        depth,
        meanings.request(text),
        *meanings.held,
        tool_ids,
        columns,
        features,
    )
    lexical, dense, *close = columns[:, :count]
    return Candidates(tool_ids[:count], lexical, dense, Coverage(*close), features)


def rerank_depth(tools: int, *, whole: bool) -> int:
    """How many candidates of each arm to rerank; more in large catalogs, but not for parts of a query."""
    return min(DEPTH, READ_AT_LEAST + tools // READ_ONE_MORE_PER) if whole else READ_AT_LEAST


# The small fitted networks, and the file they are stored in.

WEIGHTS = Path(__file__).with_name("model") / "fusion.json"


class Network(NamedTuple):
    """One hidden layer with a linear skip connection: `features @ line + tanh(features @ hidden) @ out`."""

    mean: Floats
    spread: Floats
    line: Floats
    hidden: Floats
    hidden_bias: Floats
    out: Floats
    bias: Floats

    @classmethod
    def read(cls, path: Path, name: str) -> "Network":
        """The network stored under `name`."""
        return cls(**load_weights(path)[name])


@lru_cache(maxsize=4)
def load_weights(path: Path) -> dict[str, dict[str, Floats]]:
    """The weights of all networks, as arrays."""
    kept: dict[str, dict[str, list[float]]] = json.loads(path.read_text(encoding="utf-8"))
    return {name: {key: np.array(value) for key, value in arrays.items()} for name, arrays in kept.items()}


# The weight of the whole query against all its parts. A lower one hurts single requests written in two sentences.
WHOLE_REQUEST = 0.7
DEEPEST = 200  # the longest ranking


class Fusion:
    """Ranks candidates with the fitted network."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        self._path = path

    def probabilities(self, candidates: Candidates) -> Floats:
        """The probability of each candidate to be the right one; they add up to one."""
        probabilities = np.empty(len(candidates.tool_ids))
        kernels.probabilities(
            candidates.features, candidates.lexical, candidates.dense, *candidates.close, probabilities, *self._trust
        )
        return probabilities

    def ranking(
        self, whole: Candidates, parts: Sequence[Candidates], order: Places | None = None
    ) -> list[tuple[int, float]]:
        """Tool ids with their probabilities, best first; `order` decides between equals.

        Each part of a query may want a tool of its own.
        """
        candidates = [whole, *parts]
        probabilities = [self.probabilities(one) for one in candidates]
        weights = _weights(probabilities) if parts else [1.0]
        tool_ids = [one.tool_ids for one in candidates]
        return kernels.ranked(tool_ids, probabilities, weights, order, DEEPEST)

    @cached_property
    def _trust(self) -> Network:
        return Network.read(self._path, "trust")


def _weights(probabilities: Sequence[Floats]) -> list[float]:
    """The weights of the whole query and of each part.

    The more confident side counts more: one request in two sentences is clearest as a whole.
    """
    whole, *parts = [float(own.max(initial=0.0)) for own in probabilities]
    sure, unsure = WHOLE_REQUEST * whole, (1 - WHOLE_REQUEST) * sum(parts) / len(parts)
    weight = sure / (sure + unsure) if sure + unsure else 1.0
    return [weight, *[(1 - weight) / len(parts)] * len(parts)]
