"""Calibrated confidence of a search: off by 0.04 over all public sets together, by up to 0.2 on single ones.

Three questions, each with a small fitted network of its own (`training/fit.py`): is the lexical arm's first tool right,
is the first tool of both arms right, and does any tool serve this request at all?
"""

from functools import cached_property
from math import exp
from pathlib import Path

import numpy as np

from toolcrib.search import kernels
from toolcrib.search.dense import Floats
from toolcrib.search.fusion import WEIGHTS, Candidates, Network, load_weights
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.lexical import LexicalFeatures

Ranking = list[tuple[int, float]]
RANKING_FEATURES = 7  # how many features `confidence_features` adds


class Calibration:
    """Turns features into probabilities."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        self._path = path

    def p_lexical(self, features: LexicalFeatures) -> float:
        """How likely the lexical arm's first tool is the right one, from the features of that arm alone."""
        return _probability(self._lexical, np.array(features))

    def p_first(self, confidence_features: Floats) -> float:
        """How likely the first tool of the ranking is the right one."""
        return _probability(self._first, confidence_features)

    def p_answerable(self, confidence_features: Floats) -> float:
        """How likely any tool of the catalog serves the query."""
        return _probability(self._serves, confidence_features)

    def p_agreed(self, agreement_features: Floats) -> float:
        """How likely the first tool is the right one, now that it was held against the words of the request."""
        return _probability(self._agreed, agreement_features)

    def small_talk(self, query: Vectors) -> float:
        """How much a query resembles small talk, -1..1; defined for the vectors of the built-in embedder only."""
        line, offset = self._small_talk
        logit = float(query @ line) + offset
        return min(max(logit, -6.0), 6.0) / 6

    @cached_property
    def _lexical(self) -> Network:
        return Network.read(self._path, "lexical")

    @cached_property
    def _first(self) -> Network:
        return Network.read(self._path, "first")

    @cached_property
    def _serves(self) -> Network:
        return Network.read(self._path, "serves")

    @cached_property
    def _agreed(self) -> Network:
        return Network.read(self._path, "agreed")

    @cached_property
    def _small_talk(self) -> tuple[Vectors, float]:
        line = load_weights(self._path)["small_talk"]["line"]
        return line[:-1].astype(np.float32), float(line[-1])


def confidence_features(candidates: Candidates, ranking: Ranking, parts: int, small_talk: float) -> Floats:
    """The features of the query, and those of its ranking."""
    probabilities = [probability for _, probability in ranking[:5]] + [0.0] * 5
    # The first tool may come from a part of the query and be no candidate of the whole.
    first = ranking[0][0] if ranking else -1
    place = int((candidates.tool_ids == first).argmax()) if len(candidates.tool_ids) else -1
    brought = place >= 0 and candidates.tool_ids[place] == first
    close = [float(side[place]) if brought else 0.0 for side in candidates.close]
    return np.array(
        [
            *candidates.features.tolist(),
            probabilities[0],
            probabilities[0] - probabilities[1],
            sum(probabilities),
            parts / 6,
            small_talk,
            *close,
        ]
    )


def _probability(network: Network, features: Floats) -> float:
    """The sigmoid of the network's only output."""
    logit = np.empty_like(network.bias)
    kernels.network(features, logit, *network)
    return 1 / (1 + exp(-min(max(float(logit[0]), -30.0), 30.0)))
