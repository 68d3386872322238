"""Which arm to believe, request by request.

A fixed rule loses somewhere: reciprocal ranks let a lexical arm that matched one stray word vote as loudly as a dense
arm that is sure, and a lexical arm that has every word of the request needs no second opinion. So a very small network
looks at the signs of the request (`evidence.FEATURES`) and says how much each way of scoring a candidate counts
(`basis`). It was fitted by `training/fit.py` on requests no arm had seen.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from toolcrib.search.evidence import Evidence, Floats
from toolcrib.search.network import WEIGHTS, Network

# What the request as a whole counts against its parts together. With less, single errands told in two sentences suffer.
WHOLE_REQUEST = 0.65


def basis(evidence: Evidence) -> Floats:
    """Six ways of scoring each candidate; the network says what each is worth."""
    lexical, dense = evidence.lexical, evidence.dense / 4
    return np.stack(
        [
            lexical,
            lexical * lexical,
            dense,
            np.where(lexical > 0, _rank_score(lexical), 0.0),
            _rank_score(dense),
            lexical * dense,
        ]
    )


def _rank_score(scores: Floats) -> Floats:
    """One for the best, falling slowly: a fourth rank is worth half."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    return 1 / (1 + ranks / 3)


class Fusion:
    """The fitted judge of both arms."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        self._path = path

    def shares(self, evidence: Evidence) -> Floats:
        """How likely each candidate is the one asked for, as far as the arms can tell; adds up to one."""
        if not len(evidence.numbers):
            return np.zeros(0)
        logits = self._trust(evidence.features) @ basis(evidence)
        weights = np.exp(logits - logits.max())
        return weights / weights.sum()

    def ranking(self, whole: Evidence, parts: Sequence[Evidence]) -> list[tuple[int, float]]:
        """Tool numbers with their shares, best first. Each part of a request names a tool of its own."""
        shares = dict(zip(whole.numbers.tolist(), self.shares(whole).tolist(), strict=True))
        if parts:
            shares = {number: share * WHOLE_REQUEST for number, share in shares.items()}
            for part in parts:
                for number, share in zip(part.numbers.tolist(), self.shares(part).tolist(), strict=True):
                    shares[number] = shares.get(number, 0.0) + share * (1 - WHOLE_REQUEST) / len(parts)
        # Ties go to the tool that came first, so that an order never depends on chance.
        return sorted(shares.items(), key=lambda item: (-item[1], item[0]))

    @cached_property
    def _trust(self) -> Network:
        return Network.read(self._path, "trust")
