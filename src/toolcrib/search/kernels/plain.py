"""The kernels in Python and numpy: the specification of the compiled ones, and their stand-in without a C compiler.

Each function has the name and the arguments of a compiled loop (`Kernels` in the package describes them). Results are
the same; `tests/search/test_compiled.py` compares them. Whoever changes one changes the other.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.kernels.hashing import deletion_hashes, feature_hashes
from toolcrib.search.kernels.rows import Floats32, Floats64, Places, Quantized, Vectors, block_rows, quantize

GROUP = 8  # scores of which only the highest is compared, to find the highest of all
SCORE_ROWS = 9  # ways of scoring a candidate, the rows of `score_matrix`
SHARPNESS = 8.0  # coverage differs by tenths where it matters; a network learns best from numbers near one

# A weight is a whole number from -3 to 3, in three bits. A code of twelve bits holds four: one look-up unpacks them.
_FOURS = (np.arange(4_096)[:, None] >> np.array([0, 3, 6, 9]) & 7).astype(np.float64) - 4


# The built-in embedder: from words to vectors.


def add_features(
    words: list[str],
    plains: list[str | None],
    features: NDArray[np.uint32],
    starts: NDArray[np.uint32],
    levels: NDArray[np.uint8],
    scales: NDArray[np.float16],
    out: Floats32,
    /,
) -> None:
    bags = [feature_hashes(word, plain) for word, plain in zip(words, plains, strict=True)]
    wanted = np.array([feature for bag in bags for feature in bag], dtype=np.uint32)
    found = np.searchsorted(features, wanted)
    known = np.flatnonzero(features.take(found, mode="clip") == wanted)
    rows = found.take(known)
    row_scales = scales.take(rows, axis=0).astype(np.float64)
    groups = row_scales.shape[1]
    weights = _FOURS.take(_codes(levels.take(rows, axis=0)), axis=0)
    weights = weights.reshape(len(rows), groups, out.shape[1] // groups)
    # One product a group of weights scales the rows and adds up each word's: [group, word, row] @ [group, row, :].
    owner = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags]).take(known)
    share = np.zeros((groups, len(bags), len(rows)))
    share[:, owner, np.arange(len(rows))] = row_scales.T
    summed = np.empty((len(bags), *weights.shape[1:]))
    np.matmul(share, weights.transpose(1, 0, 2), out=summed.transpose(1, 0, 2))
    out[:] = summed.reshape(len(bags), -1)


def _codes(packed: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """The codes of rows: first the low bytes of all, then the high halves, of one code of each half of the row."""
    third = packed.shape[1] // 3
    wide = packed.astype(np.uint16)
    low, high = wide[:, : 2 * third], wide[:, 2 * third :]
    low[:, :third] |= (high & 15) << 8
    low[:, third:] |= high >> 4 << 8
    return low


def add_words(vectors: list[Floats32], out: Floats32, /) -> None:
    summed = np.add.reduce(vectors, dtype=np.float64)
    # Not a dot product: each platform adds up that in an order of its own.
    length = sqrt(np.add.reduce(summed * summed))
    out[:] = summed / length if length else 0.0


# Typos: which features of a word are known, and which known words are one edit away.


def known_share(word: str, plain: str | None, features: NDArray[np.uint32], starts: NDArray[np.uint32], /) -> float:
    pieces = list(feature_hashes(word, plain)[1:])
    return len(known_positions(pieces, features, starts)) / len(pieces) if pieces else 1.0


def known_positions(wanted: list[int], features: NDArray[np.uint32], starts: NDArray[np.uint32], /) -> list[int]:
    hashes = np.array(wanted, dtype=np.uint32)
    places: list[int] = np.flatnonzero(features.take(features.searchsorted(hashes), mode="clip") == hashes).tolist()
    return places


def deletion_matches(word: str, sums: NDArray[np.uint32], owners: Places, /) -> list[int]:
    wanted = np.array(deletion_hashes(word), dtype=np.uint32)
    first = sums.searchsorted(wanted)
    found: list[int] = []
    # Most words are near no other: only the hashes that are there are followed to the end of their equals.
    for start in first[sums.take(first, mode="clip") == wanted].tolist():
        end = int(sums.searchsorted(sums[start], side="right"))
        found += owners[start:end].tolist()
    return found


# The lexical arm: the tools that have the words of a query, and which of its words each has.


def highest_by_words(
    postings: list["array[int]"], weights: list[float], norms: Floats64, order: Places | None, limit: int, /
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    scores = np.zeros(len(norms))
    for entries, weight in zip(postings, weights, strict=True):
        packed = np.frombuffer(entries, dtype=np.uint32)
        numbers, counts = packed >> 8, (packed & 255).astype(np.float64)
        scores[numbers] += weight * counts / (counts + norms[numbers])
    found = np.flatnonzero(scores)
    if len(found) > limit:
        found = found[scores[found] >= np.partition(scores[found], -limit)[-limit]]
    found = falling(found, scores[found], order)[:limit]
    return tuple(found.tolist()), tuple(scores[found].tolist())


def falling(numbers: Places, scores: NDArray[np.floating[Any]], order: Places | None) -> Places:
    """The tools by falling score; of equals, those first that `order` has first, or the lower number."""
    return numbers[np.lexsort((numbers if order is None else order[numbers], -scores))]


def matched_words(numbers: list[int], holders: list[list["array[int]"]], /) -> list[list[int]]:
    return [
        [place for place, arrays in enumerate(holders) if any(_has(postings, number) for postings in arrays)]
        for number in numbers
    ]


def _has(postings: "array[int]", number: int) -> bool:
    place = bisect_left(postings, number << 8)
    return place < len(postings) and postings[place] >> 8 == number


# The dense arm: how near the tools are to a query.


def scores(
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
    quantized = quantize(query[None])
    scores[:] = Quantized(wholes, whole_steps).near(quantized)[0]
    scores[~alive] = gone  # before passages are read: tools that left take no place in the shortlist
    lengths = ends - starts
    likely = highest(scores, count) if count < len(scores) else np.arange(len(scores))
    likely = likely[lengths.take(likely) > 0]
    if len(likely):
        rows, offsets = block_rows(starts, ends, likely)
        near = Quantized(passages, passage_steps).at(rows).near(quantized)[0]
        # The nearest passage counts beside the whole, where it is nearer than that.
        own = scores.take(likely)
        scores[likely] = whole * own + (1 - whole) * np.maximum(own, np.maximum.reduceat(near, offsets))


def nearest(
    scores: Floats32, depth: int, gone: float, order: Places | None, /
) -> tuple[tuple[int, ...], int, float, float]:
    present = scores[scores > gone].astype(np.float64)
    if not len(present):
        return (), 0, 0.0, 0.0
    best = highest(scores, min(depth, len(present)))
    ordered = falling(best, scores.take(best), order)
    return tuple(ordered[:depth].tolist()), len(present), float(present.sum()), float(present @ present)


def highest(scores: Floats32, count: int) -> Places:
    """The places of the `count` highest scores, and of those as high as the last of them, in order of place.

    Of the highest of each group there are at least as many above their own `count`-th: only what reaches that can be
    among them. A third of the time of `partition` over all.
    """
    width = len(scores) // GROUP
    if width < 2 * count:
        return np.flatnonzero(scores >= np.partition(scores, -count)[-count])
    tops = scores[: width * GROUP].reshape(GROUP, width).max(axis=0)
    tops.partition(width - count)
    likely = np.flatnonzero(scores >= tops[width - count])
    among = scores.take(likely)
    return likely[among >= np.partition(among, -count)[-count]]


# Fusion: the candidates of both arms, and how likely each is the one that is wanted.


def collect_candidates(
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
    found = set(named)
    candidates = [*named, *[number for number in nearest if number not in found]]
    count = len(candidates)
    numbers[:count] = candidates
    lexical, dense, of_query, of_tool = columns[:, :count]
    if named:
        lexical[: len(named)] = named_scores
        lexical /= named_scores[0]
    if nearest:
        dense[:] = z_scores(scores.take(numbers[:count]), mean, spread, gone)
    # Candidates that are not reranked hardly win: they count as having no word of the query.
    best = {*named[:depth], *nearest[:depth]} if depth * 2 < count else set(candidates)
    read = [place for place, number in enumerate(candidates) if number in best]
    of_query[read], of_tool[read] = coverage(request, numbers[read], starts, ends, words, directions, shares)
    first = float(dense[0]) if named else 0.0
    top_place = int(dense.argmax()) if count else -1
    top = max(float(dense[top_place]), 0.0) if count else 0.0
    near: list[float] = scores.take(nearest[:5]).tolist() if nearest else []
    features[:] = [
        *lexical_features[:4],
        near[0] if near else 0.0,
        top / 4,
        *leads(near, spread),
        len(set(named[:5]).intersection(nearest[:5])) / 5,
        float(bool(named) and named[:1] == nearest[:1]),
        *lexical_features[4:],
        float(lexical[top_place]) if count else 0.0,
        first / 4,
        (top - first) / 4,
        float(of_query.max(initial=0.0)),
        float(of_tool.max(initial=0.0)),
    ]
    return count


def z_scores(scores: Floats32, mean: float, spread: float, gone: float) -> Floats64:
    """Standard deviations above the mean; zero for a tool whose vectors are still to come."""
    fine = scores.astype(np.float64)
    standardized: Floats64 = (fine - mean) / spread
    standardized[fine <= gone] = 0.0
    return standardized


def leads(scores: Sequence[float], unit: float) -> tuple[float, float]:
    """How far the first score is above the second and above the fifth."""
    if not scores:
        return 0.0, 0.0
    padded = [*scores[:5], *[0.0] * (5 - len(scores))]
    return (padded[0] - padded[1]) / unit, (padded[0] - padded[4]) / unit


def coverage(
    request: Sequence[Vectors],
    numbers: Places,
    starts: Places,
    ends: Places,
    words: NDArray[np.int32],
    directions: Floats32,
    shares: Floats32,
) -> tuple[Floats64, Floats64]:
    """How much of a query each of these tools covers, word by word, and how much of each tool the query covers."""
    if not len(request) or not len(numbers):
        return np.zeros(len(numbers)), np.zeros(len(numbers))
    query_directions, weights = directions_and_weights(np.array(request), directions.shape[1])
    missing = max(0, int(numbers.max()) + 1 - len(starts))  # tools whose words are still to come have the first row
    if missing:
        starts = np.concatenate([starts, np.zeros(missing, dtype=np.int64)])
        ends = np.concatenate([ends, np.ones(missing, dtype=np.int64)])
    rows, offsets = block_rows(starts, ends, numbers)
    # Tall by narrow: the other way takes twice as long.
    near = directions.take(words.take(rows), axis=0) @ query_directions.T
    of_query = np.maximum.reduceat(near, offsets, axis=0) @ (weights / weights.sum())
    closest = near[:, 0].copy()
    for column in near.T[1:]:  # a dozen long steps instead of a thousand short ones
        np.maximum(closest, column, out=closest)
    of_tool = np.add.reduceat(closest * shares.take(rows), offsets)
    return of_query.astype(np.float64), of_tool.astype(np.float64)


def directions_and_weights(vectors: Vectors, dimensions: int) -> tuple[Vectors, Vectors]:
    """Directions of length one, and the weight of each word: the longer a word's vector, the more it tells."""
    weights, lengths = (
        np.sqrt(np.einsum("wd,wd->w", side, side)) + 1e-6 for side in (vectors, vectors[:, :dimensions])
    )
    return vectors[:, :dimensions] / lengths[:, None], weights


def network(features: Floats64, answers: Floats64, /, *layers: Floats64) -> None:
    mean, spread, line, hidden, hidden_bias, out, bias = layers
    scaled = (features - mean) / spread
    answers[:] = scaled @ line + np.tanh(scaled @ hidden + hidden_bias) @ out + bias


def probabilities(
    features: Floats64,
    lexical: Floats64,
    dense: Floats64,
    of_query: Floats64,
    of_tool: Floats64,
    probabilities: Floats64,
    /,
    *layers: Floats64,
) -> None:
    if len(probabilities):
        trust = np.empty(SCORE_ROWS)
        network(features, trust, *layers)
        logits = trust @ score_matrix(lexical, dense, of_query, of_tool)
        weights = np.exp(logits - logits.max())
        probabilities[:] = weights / weights.sum()


def score_matrix(lexical: Floats64, dense: Floats64, of_query: Floats64, of_tool: Floats64) -> Floats64:
    """Nine ways of scoring each candidate; the network says what each is worth."""
    near = dense / 4
    falling = _FALLING[: len(lexical)] if len(lexical) <= len(_FALLING) else _falling(len(lexical))
    rows = np.empty((SCORE_ROWS, len(lexical)))
    rows[0] = lexical
    rows[1] = lexical * lexical
    rows[2] = near
    np.multiply(falling, lexical > 0, out=rows[3])  # candidates stand in the order of the lexical arm
    rows[4, np.argsort(-near, kind="stable")] = falling
    rows[5] = lexical * near
    rows[6] = SHARPNESS * of_query
    rows[7] = SHARPNESS * of_tool
    rows[8] = SHARPNESS * of_query * of_tool
    return rows


def _falling(count: int) -> Floats64:
    """One for the best, falling slowly: a fourth rank is worth half."""
    return 1 / (1 + np.arange(count) / 3)


_FALLING = _falling(200)


def ranked(
    numbers: list[Places], shares: list[Floats64], weights: list[float], order: Places | None, deepest: int, /
) -> list[tuple[int, float]]:
    weighted = [own * weight for own, weight in zip(shares, weights, strict=True)]
    held, place = np.unique(np.concatenate(numbers), return_inverse=True)
    pooled = np.bincount(place, weights=np.concatenate(weighted), minlength=len(held))
    best = np.lexsort((held if order is None else order[held], -pooled))[:deepest]
    return list(zip(held[best].tolist(), pooled[best].tolist(), strict=True))
