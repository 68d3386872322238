"""How sure a search is, as a probability: over all public sets together it is off by 0.04, on single ones by up to 0.2.

Three questions, each with a small fitted network of its own (`training/fit.py`): is the lexical arm's first tool right,
is the first tool of both arms right, and does any tool serve this request at all?
"""

from functools import cached_property
from math import exp
from pathlib import Path

import numpy as np

from toolcrib.search import kernels
from toolcrib.search.dense import Floats
from toolcrib.search.fusion import WEIGHTS, Candidates, Network, fitted
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.lexical import LexicalFeatures

Ranking = list[tuple[int, float]]
OUTLOOK = 7  # what `confidence_features` adds to the features of a request


class Calibration:
    """Turns evidence into probabilities."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        self._path = path

    def p_lexical(self, said: LexicalFeatures) -> float:
        """How likely the lexical arm's first tool is the right one, from what that arm alone can know."""
        return _probability(self._lexical, np.array(said))

    def p_first(self, confidence_features: Floats) -> float:
        """How likely the first tool of the ranking is the right one."""
        return _probability(self._first, confidence_features)

    def p_answerable(self, confidence_features: Floats) -> float:
        """How likely the catalog has a tool for this request at all."""
        return _probability(self._serves, confidence_features)

    def small_talk(self, query: Vectors) -> float:
        """How much a request sounds like small talk; only the built-in embedder's vectors can be read this way."""
        line, offset = self._small_talk
        sound = float(query @ line) + offset
        return min(max(sound, -6.0), 6.0) / 6

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
    def _small_talk(self) -> tuple[Vectors, float]:
        line = fitted(self._path)["small_talk"]["line"]
        return line[:-1].astype(np.float32), float(line[-1])


def confidence_features(evidence: Candidates, ranking: Ranking, parts: int, small_talk: float) -> Floats:
    """The signs of a request together with how the ranking came out."""
    shares = [share for _, share in ranking[:5]] + [0.0] * 5
    # Of a request with parts the first tool may be one that only a part brought up.
    first = ranking[0][0] if ranking else -1
    place = int((evidence.numbers == first).argmax()) if len(evidence.numbers) else -1
    brought = place >= 0 and evidence.numbers[place] == first
    close = [float(side[place]) if brought else 0.0 for side in evidence.close]
    return np.array(
        [*evidence.features.tolist(), shares[0], shares[0] - shares[1], sum(shares), parts / 6, small_talk, *close]
    )


def _probability(network: Network, features: Floats) -> float:
    """The sigmoid of the network's only output."""
    logit = np.empty_like(network.bias)
    kernels.network(features, logit, *network)
    return 1 / (1 + exp(-min(max(float(logit[0]), -30.0), 30.0)))
