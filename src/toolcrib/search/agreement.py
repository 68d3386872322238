"""Whether the first tool is what a request asks for, or only the nearest there is: "rename the project", `rename_file`.

The ranking cannot tell: it compares tools with each other, and some tool always comes first. So the words of the
request are held against the words of that tool and of the other candidates: which words of weight nobody has, which
ones only another tool has, how much of the tool's name was asked for. A small fitted network turns that into the
confidence (`training/agreement.py`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from toolcrib.search.dense import ABSENT, Floats, Similarity
from toolcrib.search.kernels.plain import directions_and_weights
from toolcrib.search.lexical import LexicalFeatures
from toolcrib.search.rerank import DIMENSIONS, LateInteraction
from toolcrib.search.text import words

MOST_CANDIDATES = 16  # that are read beside the first tool
ALIKE, AKIN, STRANGE = 0.7, 0.5, 0.3  # cosines of words


class Ranked(NamedTuple):
    """A ranking so far: its first tool, and how sure the arms are of it."""

    tool_ids: Sequence[int]  # best first
    name: str  # of the first
    confidence: float
    answerable: float
    is_lexical: bool
    shares: Sequence[float]  # in the order of the tools
    similarity: Similarity  # the dense arm, where it was asked
    small_talk: float


def agreement_features(meanings: LateInteraction, text: str, ranked: Ranked, lexical: LexicalFeatures) -> Floats:
    """What tells whether the first tool is the one asked for."""
    request, weights = directions_and_weights(np.array(meanings.request(text)), DIMENSIONS)
    weights = weights / weights.sum()
    called_by = list(dict.fromkeys(words(ranked.name))) or [ranked.name]
    name, name_weights = directions_and_weights(np.array(meanings.embedder.embed_words(called_by)), DIMENSIONS)
    own, around = meanings.nearest_words(request, ranked.tool_ids[: 1 + MOST_CANDIDATES])
    to_name = request @ name.T
    by_name, of_name = to_name.max(axis=1), to_name.max(axis=0)
    whole = (request * weights[:, None]).sum(axis=0)
    called = (name * name_weights[:, None]).sum(axis=0)
    elsewhere = around - own
    heaviest = int(weights.argmax())
    shares = [*ranked.shares[:5], *[0.0] * 5]
    near = ranked.similarity
    first, highest = (
        (float(near.scores[tool_id]) if tool_id < len(near.scores) and near.scores[tool_id] > ABSENT else 0.0)
        for tool_id in (ranked.tool_ids[0], near.nearest[0] if near.nearest else ranked.tool_ids[0])
    )
    return np.array(
        [
            ranked.confidence,
            ranked.answerable,
            float(ranked.is_lexical),
            shares[0] - shares[1],
            sum(shares),
            first,
            highest,
            (first - near.mean) / near.spread / 4,
            (highest - first) / near.spread,
            ranked.small_talk,
            lexical.coverage,
            lexical.known,
            lexical.lexical_margin,
            lexical.lexical_lead,
            lexical.matched,
            lexical.spelled,
            lexical.ties,
            own @ weights,
            by_name @ weights,
            around @ weights,
            elsewhere @ weights,
            elsewhere.max(),
            own.min(),
            around.min(),
            weights[own < STRANGE].sum(),
            weights[own < AKIN].sum(),
            weights[around < STRANGE].sum(),
            weights[around < AKIN].sum(),
            weights[own > ALIKE].sum(),
            weights[by_name > ALIKE].sum(),
            (weights * (1 - own)).max(),
            (weights * (1 - around)).max(),
            of_name.min(),
            of_name.max(),
            of_name @ name_weights / name_weights.sum(),
            of_name[0],
            of_name[-1],
            to_name[0].max(),
            to_name[0, 0],
            own[0],
            around[0],
            own[-1],
            around[-1],
            own[heaviest],
            around[heaviest],
            by_name[heaviest],
            float(whole @ called) / (float(np.linalg.norm(whole) * np.linalg.norm(called)) or 1.0),
        ],
        dtype=np.float64,
    )
