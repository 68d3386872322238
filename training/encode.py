"""Texts as word numbers, words as table rows: the arrays that training gathers from on the GPU.

Words repeat, so a text is a bag of words and a word a bag of rows; both are kept as flat arrays with offsets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pool

import numpy as np

from toolcrib.search.embedders.builtin import text_words, word_features

CHUNK = 50_000
COUNTS_MORE = {"en": 3.0}  # the language of nearly all tools


@dataclass(frozen=True, slots=True)
class Bags:
    """Variable-length lists of numbers, end to end: bag i is `flat[offsets[i]:offsets[i + 1]]`."""

    flat: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def some(self, which: np.ndarray, flat: np.ndarray | None = None) -> np.ndarray:
        """What is in the bags `which`, end to end; or what stands in another array in its place."""
        lengths = self.offsets[which + 1] - self.offsets[which]
        ends = np.cumsum(lengths)
        place = np.arange(ends[-1]) + np.repeat(self.offsets[which] - (ends - lengths), lengths)
        return (self.flat if flat is None else flat)[place]

    @classmethod
    def of(cls, lists: Sequence[np.ndarray]) -> "Bags":
        lengths = np.fromiter((len(one) for one in lists), dtype=np.int64, count=len(lists))
        flat = np.concatenate(lists) if lists else np.zeros(0, dtype=np.int64)
        return cls(flat, np.concatenate([[0], np.cumsum(lengths)]))


@dataclass(frozen=True, slots=True)
class Encoded:
    """The corpus: words of each text, features of each word."""

    texts: Bags
    words: Bags


def encode(texts: Sequence[str], *, processes: int) -> Encoded:
    """Read all texts with the embedder's own eyes."""
    numbers: dict[str, int] = {}
    parts: list[np.ndarray] = []
    with Pool(processes) as pool:
        chunks = [texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK)]
        lengths: list[np.ndarray] = []
        for vocabulary, local, sizes in pool.imap(_chunk_words, chunks):
            shared = np.array([numbers.setdefault(word, len(numbers)) for word in vocabulary], dtype=np.int32)
            parts.append(shared[local] if len(local) else local)
            lengths.append(sizes)
        spelled = list(numbers)
        words = Bags.of(
            [
                features
                for chunk in pool.imap(_chunk_features, [spelled[i : i + CHUNK] for i in range(0, len(spelled), CHUNK)])
                for features in chunk
            ]
        )
    flat = np.concatenate(parts)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return Encoded(Bags(flat, offsets), words)


def choose_features(
    encoded: Encoded, rows: int, languages: Mapping[str, np.ndarray], *, held: np.ndarray | None = None
) -> np.ndarray:
    """The features that get a row each, sorted for binary search. `languages` has the numbers of each one's texts.

    Those that are `held` keep theirs. A feature counts by the share that it has in the words of a language, frequent
    words more than rare ones. Languages count by the root of their size: by count alone, a script of its own gets
    hardly any rows.
    """
    features, position = np.unique(encoded.words.flat, return_inverse=True)
    score = np.zeros(len(features))
    for name, texts in languages.items():
        counts = np.bincount(encoded.texts.some(texts), minlength=len(encoded.words))
        said = np.flatnonzero(counts)
        lengths = np.diff(encoded.words.offsets)[said]
        share = np.bincount(
            encoded.words.some(said, position),
            weights=np.repeat(np.sqrt(counts[said]), lengths),
            minlength=len(features),
        )
        score += share * (len(texts) ** 0.5 * COUNTS_MORE.get(name, 1.0) / share.sum())
    if held is not None:
        score[np.isin(features, held)] = np.inf
    best = np.argsort(-score, kind="stable")[:rows]
    return np.sort(features[best]).astype(np.uint32)


def rows_of(features: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The row of each feature, and whether it has one."""
    position = np.searchsorted(chosen, features).clip(max=len(chosen) - 1)
    return position, chosen[position] == features


def _chunk_words(texts: Sequence[str]) -> tuple[list[str], np.ndarray, np.ndarray]:
    numbers: dict[str, int] = {}
    lists = [[numbers.setdefault(word, len(numbers)) for word in text_words(text)] for text in texts]
    flat = np.fromiter((number for one in lists for number in one), dtype=np.int32)
    return list(numbers), flat, np.array([len(one) for one in lists], dtype=np.int64)


def _chunk_features(words: Sequence[str]) -> list[np.ndarray]:
    return [np.array(word_features(word), dtype=np.uint32) for word in words]
