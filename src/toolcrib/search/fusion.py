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

from toolcrib.search.blocks import Places
from toolcrib.search.compiled import compiled
from toolcrib.search.evidence import Evidence
from toolcrib.search.nearness import DEPTH, Floats
from toolcrib.search.network import WEIGHTS, Network

# What the request as a whole counts against its parts together. With less, single errands told in two sentences suffer.
WHOLE_REQUEST = 0.7
DEEPEST = 200  # no answer is longer
WAYS = 9
SHARPNESS = 8.0  # closeness differs by tenths where it matters; a network learns best from numbers near one


def basis(evidence: Evidence) -> Floats:
    """Nine ways of scoring each candidate; the network says what each is worth."""
    lexical, dense = evidence.lexical, evidence.dense / 4
    count = len(lexical)
    falling = _FALLING[:count] if count <= len(_FALLING) else _falling(count)
    rows = np.empty((WAYS, count))
    rows[0] = lexical
    rows[1] = lexical * lexical
    rows[2] = dense
    np.multiply(falling, lexical > 0, out=rows[3])  # candidates stand in the order of the lexical arm
    rows[4, np.argsort(-dense, kind="stable")] = falling
    rows[5] = lexical * dense
    rows[6] = SHARPNESS * evidence.close.asked
    rows[7] = SHARPNESS * evidence.close.told
    rows[8] = SHARPNESS * evidence.close.asked * evidence.close.told
    return rows


def _falling(count: int) -> Floats:
    """One for the best, falling slowly: a fourth rank is worth half."""
    return 1 / (1 + np.arange(count) / 3)


_FALLING = _falling(4 * DEPTH)


class Fusion:
    """The fitted judge of both arms."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        self._path = path

    def shares(self, evidence: Evidence) -> Floats:
        """How likely each candidate is the one asked for, as far as the arms can tell; adds up to one."""
        if compiled:
            shares = np.empty(len(evidence.numbers))
            compiled.shares(evidence.features, evidence.lexical, evidence.dense, *evidence.close, shares, *self._trust)
            return shares
        if not len(evidence.numbers):
            return np.zeros(0)
        logits = self._trust(evidence.features) @ basis(evidence)
        weights = np.exp(logits - logits.max())
        return weights / weights.sum()

    def ranking(self, whole: Evidence, parts: Sequence[Evidence]) -> list[tuple[int, float]]:
        """Tool numbers with their shares, best first. Each part of a request names a tool of its own."""
        evidence = [whole, *parts]
        shares = [self.shares(one) for one in evidence]
        weights = _weights(shares) if parts else [1.0]
        numbers = [one.numbers for one in evidence]
        return (compiled.ranked if compiled else _ranked)(numbers, shares, weights, DEEPEST)

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


def _ranked(
    numbers: Sequence[Places], shares: Sequence[Floats], weights: Sequence[float], deepest: int
) -> list[tuple[int, float]]:
    """Tools with their shares added up, best first."""
    weighed = [own * weight for own, weight in zip(shares, weights, strict=True)]
    held, place = np.unique(np.concatenate(numbers), return_inverse=True)
    pooled = np.bincount(place, weights=np.concatenate(weighed), minlength=len(held))
    # Ties go to the smaller number, so that an order never depends on chance.
    best = np.lexsort((held, -pooled))[:deepest]
    return list(zip(held[best].tolist(), pooled[best].tolist(), strict=True))
