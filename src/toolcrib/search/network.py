"""The small fitted networks that judge the arms, and the file they are kept in."""

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolcrib.search.compiled import compiled
from toolcrib.search.nearness import Floats

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

    def __call__(self, features: Floats) -> Floats:
        if compiled and features.ndim == 1:
            answers = np.empty_like(self.bias)
            compiled.network(features, answers, *self)
            return answers
        scaled = (features - self.mean) / self.spread
        return scaled @ self.line + np.tanh(scaled @ self.hidden + self.hidden_bias) @ self.out + self.bias


@lru_cache(maxsize=4)
def fitted(path: Path) -> dict[str, dict[str, Floats]]:
    """Everything that was fitted, as arrays."""
    kept: dict[str, dict[str, list[float]]] = json.loads(path.read_text(encoding="utf-8"))
    return {name: {key: np.array(value) for key, value in arrays.items()} for name, arrays in kept.items()}
