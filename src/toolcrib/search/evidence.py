"""What both arms say about one request, side by side: candidates with their scores, and signs of how sure each arm is.

Everything is made comparable here. A lexical score is divided by the best one, a dense score counted in standard
deviations above the catalogue's mean, so that neither depends on the catalogue's size or the embedder's scale.
"""

from collections.abc import Sequence
from math import log1p
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.asked_words import AskedWord
from toolcrib.search.compiled import compiled
from toolcrib.search.dense import GONE
from toolcrib.search.lexical import LexicalMatch
from toolcrib.search.nearness import DEPTH, Floats, Nearness
from toolcrib.search.word_meanings import Closeness, WordMeanings

NEARLY = 0.7  # of the best lexical score
READ_AT_LEAST, READ_ONE_MORE_PER = 16, 600  # candidates that are read word by word, and tools for one more
FEATURES = (
    "coverage",  # how much of the request, by rarity, the best lexical tool contains
    "known",  # how much of it the catalogue has words for
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
    "size",  # tools in the catalogue
    "matched",  # how many words of the request the best lexical tool contains
    "spelled",  # and how many of those as they were written, not guessed
    "ties",  # tools nearly as good as the best lexical one
    "lexical_of_nearest",  # what the lexical arm thinks of the nearest tool
    "dense_of_first",  # how high the best lexical tool stands in the dense arm
    "first_gap",  # and how far below the nearest
    "most_asked",  # how much of the request, word by word, the closest tool speaks of
    "most_told",  # how much of the closest tool the request asks for
)


class WordSigns(NamedTuple):
    """The features that the words alone tell, by the names they have in `FEATURES` and in their order."""

    coverage: float
    known: float
    lexical_margin: float
    lexical_lead: float
    length: float
    foreign: float
    size: float
    matched: float
    spelled: float
    ties: float


LEXICAL_FEATURES = tuple(FEATURES.index(name) for name in WordSigns._fields)


class Evidence(NamedTuple):
    """The candidates of both arms, and the features of the request as a whole."""

    numbers: NDArray[np.int64]  # first what the lexical arm found, in its order, then what else is near
    lexical: Floats  # 0..1 for each candidate
    dense: Floats  # standard deviations above the mean
    close: Closeness  # the candidates read word by word
    features: Floats  # in the order of FEATURES


class WordsOfTools(Protocol):
    """What can be asked of a lexical arm about its tools."""

    def __len__(self) -> int: ...

    def matched(self, numbers: Sequence[int], asked: Sequence[AskedWord]) -> list[list[AskedWord]]:
        """The words of a request that the texts of each of these tools contain."""
        ...


def read_words(match: LexicalMatch, lexical_index: WordsOfTools) -> WordSigns:
    """What the lexical arm's matches say about how sure it can be."""
    # Small lists all over, asked for several times a search: plain Python is faster here than arrays.
    best_score = match.scores[0] if match.scores else 1.0
    asked = match.asked
    best = lexical_index.matched(match.numbers[:3], asked)
    matched = best[0] if best else []
    whole = sum([word.rarity for word in asked]) or 1.0
    nearly = NEARLY * best_score
    return WordSigns(
        max([sum([word.weight for word in words]) for words in best], default=0.0) / whole,
        match.known_share,
        *_leads(match.scores, best_score),
        log1p(len(asked)) / 3,
        sum([not word.word.isascii() for word in asked]) / max(1, len(asked)),
        log1p(len(lexical_index)) / 10,
        min(len(matched), 4) / 4,
        sum([not word.guessed for word in matched]) / max(1, len(matched)),
        len([score for score in match.scores if score > nearly]) / 10,
    )


def gather(
    match: LexicalMatch, said: WordSigns, nearness: Nearness, meanings: WordMeanings, text: str, depth: int
) -> Evidence:
    """Put side by side what the lexical arm found, how near all tools are, and what the best of both say in detail.

    The first `depth` candidates of each arm are read word by word, or all where they are few.
    """
    if compiled is None:
        return _gather(match, said, nearness, meanings, text, depth)
    room = len(match.numbers) + len(nearness.nearest)
    numbers, columns, features = np.empty(room, dtype=np.int64), np.zeros((4, room)), np.empty(len(FEATURES))
    asked = depth, meanings.request(text)
    count = compiled.gather(
        match.numbers, match.scores, said, *nearness, GONE, *asked, *meanings.held, numbers, columns, features
    )
    lexical, dense, *close = columns[:, :count]
    return Evidence(numbers[:count], lexical, dense, Closeness(*close), features)


def reading_depth(tools: int, *, whole: bool) -> int:
    """How many candidates of each arm are read word by word: of many tools more for a whole request, not for a part."""
    return min(DEPTH, READ_AT_LEAST + tools // READ_ONE_MORE_PER) if whole else READ_AT_LEAST


def _gather(
    match: LexicalMatch, said: WordSigns, nearness: Nearness, meanings: WordMeanings, text: str, depth: int
) -> Evidence:
    named, nearest = match.numbers, nearness.nearest
    found = set(named)
    candidates = [*named, *[number for number in nearest if number not in found]]
    best = {*named[:depth], *nearest[:depth]} if depth * 2 < len(candidates) else set(candidates)
    close = _read_some(candidates, best, meanings, text)
    numbers = np.array(candidates, dtype=np.int64)
    lexical = np.zeros(len(numbers))
    if named:
        lexical[: len(named)] = match.scores
        lexical /= match.scores[0]
    dense = nearness.heights(numbers)
    first = float(dense[0]) if named else 0.0
    highest = int(dense.argmax()) if len(numbers) else -1
    top = max(float(dense[highest]), 0.0) if len(numbers) else 0.0
    near = nearness.scores_of_nearest
    features = [
        said.coverage,
        said.known,
        said.lexical_margin,
        said.lexical_lead,
        near[0] if near else 0.0,
        top / 4,
        *_leads(near, nearness.spread),
        len(set(named[:5]).intersection(nearest[:5])) / 5,
        float(bool(named) and named[:1] == nearest[:1]),
        said.length,
        said.foreign,
        said.size,
        said.matched,
        said.spelled,
        said.ties,
        float(lexical[highest]) if len(numbers) else 0.0,
        first / 4,
        (top - first) / 4,
        float(close.asked.max(initial=0.0)),
        float(close.told.max(initial=0.0)),
    ]
    return Evidence(numbers=numbers, lexical=lexical, dense=dense, close=close, features=np.array(features))


def _read_some(candidates: Sequence[int], chosen: set[int], meanings: WordMeanings, text: str) -> Closeness:
    """Read the chosen candidates; the others, which hardly win, count as having no word of the request."""
    at = [place for place, number in enumerate(candidates) if number in chosen]
    asked, told = np.zeros(len(candidates)), np.zeros(len(candidates))
    asked[at], told[at] = meanings.read(text, [candidates[place] for place in at])
    return Closeness(asked, told)


def _leads(scores: Sequence[float], unit: float) -> tuple[float, float]:
    """How far the first stands before the second and before the fifth."""
    if not scores:
        return 0.0, 0.0
    padded = [*scores[:5], *[0.0] * (5 - len(scores))]
    return (padded[0] - padded[1]) / unit, (padded[0] - padded[4]) / unit
