"""The built-in embedder: one table of feature vectors for 80+ languages, made in `training/`, read with numpy alone.

A word's vector is the sum of its features' rows, a text's vector the sum of its words', scaled to length one. Sums are
made in double precision, where those of a word are exact (a row's weights are small whole numbers times a scale of half
precision): a text has the same vector on every platform, in every batch and in every thread.
"""

from collections.abc import Iterator, Sequence, Set
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolcrib.search import kernels
from toolcrib.search.embedders.embedder import CheckedEmbedder, Embedder
from toolcrib.search.kernels.hashing import MAX_LETTERS, feature_hashes
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.text import is_unspaced, plain, words

MAX_WORDS = 160  # a request or tool text says what it is about well before that


def text_words(text: str) -> list[str]:
    """The words of a text that count, in order."""
    return [word for word in words(text)[:MAX_WORDS] if len(word) <= MAX_LETTERS or is_unspaced(word)]


def word_features(word: str) -> tuple[int, ...]:
    """The features of one word, as 32-bit hashes: the word as a whole, then its n-grams."""
    return feature_hashes(word, ngram_form(word))


def ngram_form(word: str) -> str | None:
    """The form of a word that n-grams are taken of; None for a run of a script without spaces."""
    return None if is_unspaced(word) else plain(word)


MODEL = Path(__file__).parents[1] / "model"
CACHED_WORDS = 16_384  # a kilobyte each; requests and tools of one catalog share most of their words
LATEST_WORDS = CACHED_WORDS // 2
TEXTS_AT_ONCE = 256  # their words are held until all are read
WORDS_AT_ONCE = 16  # larger blocks are mostly zeros


class BuiltinEmbedder:
    """Texts in any language to vectors, in microseconds and without a download."""

    remote = False

    def __init__(self, folder: Path = MODEL) -> None:
        self._folder = folder
        self._latest: dict[str, Vectors] = {}  # the words read last
        self._earlier: dict[str, Vectors] = {}  # and those read before them, unless they came again

    @property
    def id(self) -> str:
        return f"toolcrib-{self._folder.joinpath('VERSION').read_text(encoding='utf-8').strip()}"

    @property
    def dimensions(self) -> int:
        return self._levels.shape[1] // 3 * 8

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts)

    def embed_words(self, words: Sequence[str]) -> list[Vectors]:
        """The vectors of single words, not scaled: the longer a vector, the more its word counts in a text."""
        known = self._word_vectors(set(words))
        return [known[word] for word in words]

    def _embed(self, texts: Sequence[str]) -> Vectors:
        out = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            self._embed_some(texts[start : start + TEXTS_AT_ONCE], out[start : start + TEXTS_AT_ONCE])
        return out

    def _embed_some(self, texts: Sequence[str], out: Vectors) -> None:
        split = [text_words(text) for text in texts]
        known = self._word_vectors({word for found in split for word in found})
        for row, found in enumerate(split):
            if found:
                kernels.add_words([known[word] for word in found], out[row])

    def _word_vectors(self, wanted: Set[str]) -> dict[str, Vectors]:
        # Threads share the cache without a lock: a vector lost or made twice in a race is the same vector.
        latest, earlier = self._latest, self._earlier
        if latest.keys() >= wanted:
            return latest
        known = {word: vector for word in wanted if (vector := latest.get(word, earlier.get(word))) is not None}
        missing = [word for word in wanted if word not in known]
        known.update(zip(missing, self._read(missing), strict=True))
        if len(latest) + len(known) > LATEST_WORDS:
            self._latest, self._earlier = {}, latest
        self._latest.update(islice(known.items(), LATEST_WORDS))
        return known

    def _read(self, words: list[str]) -> Iterator[Vectors]:
        """The vectors of words that are not cached."""
        for start in range(0, len(words), WORDS_AT_ONCE):
            some = words[start : start + WORDS_AT_ONCE]
            summed = np.empty((len(some), self.dimensions), dtype=np.float32)
            plains = [ngram_form(word) for word in some]
            kernels.add_features(some, plains, *self._features, self._levels, self._scales, summed)
            # Each on its own: one that is kept would keep the others.
            yield from [row.copy() for row in summed]

    @cached_property
    def _features(self) -> "Features":
        return known_features(self._folder)

    @cached_property
    def _levels(self) -> NDArray[np.uint8]:
        # Seen as a plain array, which is indexed faster; the mapping stays behind it.
        return np.load(self._folder / "levels.npy", mmap_mode="r").view(np.ndarray)

    @cached_property
    def _scales(self) -> NDArray[np.float16]:
        return np.load(self._folder / "scales.npy", mmap_mode="r").view(np.ndarray)


class Features(NamedTuple):
    """The features that have a row, sorted, and where those with the same upper 16 bits start."""

    numbers: NDArray[np.uint32]
    starts: NDArray[np.uint32]


@lru_cache(maxsize=4)
def known_features(folder: Path) -> Features:
    """The features of a model."""
    # Searched for every new word: half a megabyte is better held than mapped.
    numbers: NDArray[np.uint32] = np.load(folder / "features.npy")
    return Features(numbers, numbers.searchsorted(np.arange(65_537, dtype=np.uint64) << 16).astype(np.uint32))


def checked(embedder: Embedder) -> Embedder:
    """The embedder with its vectors checked; the built-in one needs no check, and is asked in microseconds."""
    return embedder if isinstance(embedder, BuiltinEmbedder | CheckedEmbedder) else CheckedEmbedder(embedder)
