"""The built-in embedder: one table of feature vectors for 80+ languages, made in `training/`, read with numpy alone.

A word's vector is the sum of its features' rows, a text's vector the sum of its words', cut to length one. Sums are
made in double precision, where those of a word are exact (a row's weights are small whole numbers times a scale of half
precision): a text has the same vector on every platform, in every batch and in every thread.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cache, cached_property, lru_cache
from itertools import islice
from math import sqrt
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.embedders.embedder import CheckedEmbedder, Embedder
from toolcrib.search.kernels import compiled
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.text import is_unspaced, plain, words

# From words to the features whose vectors the built-in embedder adds up.

MAX_WORDS = 160  # a request or tool text says what it is about well before that
MAX_LETTERS = 64  # what is longer is no word but a key, a hash, a picture in letters: it may not drown the others
MAX_GRAMS_PER_SIZE = 20
MAX_RUN = 60


@lru_cache(maxsize=512)  # an unknown word of a request is looked at by the speller, then by the embedder
def word_features(word: str) -> tuple[int, ...]:
    """The features of one word, as 32-bit numbers: the word for itself, then its pieces."""
    return tuple(_run_features(word) if is_unspaced(word) else _spelled_features(word))


def pieced(word: str) -> str | None:
    """The form of a word that pieces are taken of; None for a run, which gives its own."""
    return None if is_unspaced(word) else plain(word)


def text_words(text: str) -> list[str]:
    """The words of a text that count, in order."""
    return [word for word in words(text)[:MAX_WORDS] if len(word) <= MAX_LETTERS or is_unspaced(word)]


def whole_word(word: str) -> int:
    """The feature that a word has for itself."""
    return crc32(b"w" + word[:MAX_LETTERS].encode())


def whole_words(head: str, middles: Iterable[str], tail: str) -> list[int]:
    """The same for all words that begin and end alike, in a third of the time."""
    begun, ended = crc32(b"w" + head.encode()), tail.encode()
    return [crc32(middle.encode() + ended, begun) for middle in middles]


def piece(text: str) -> int:
    """The feature of a piece of a word."""
    return crc32(text.encode())


def _spelled_features(word: str) -> list[int]:
    features = [whole_word(word)]
    bare = f"<{plain(word)[:MAX_LETTERS]}>"
    if len(bare) <= 3:
        return features
    if bare.isascii():
        letters = bare.encode()
        return features + [crc32(letters[start:end]) for start, end in piece_bounds(len(bare))]
    return features + [piece(bare[start:end]) for start, end in piece_bounds(len(bare))]


@cache
def piece_bounds(length: int) -> tuple[tuple[int, int], ...]:
    """Where the 3- to 6-grams of a word begin and end; they depend on nothing but its length, at most 66."""
    return tuple(
        (start, start + size)
        for size in range(3, min(6, length) + 1)
        for start in range(min(length - size + 1, MAX_GRAMS_PER_SIZE))
    )


def _run_features(run: str) -> list[int]:
    run = run[:MAX_RUN]
    features = [whole_word(run)] if len(run) <= 6 else []
    for size in (1, 2, 3):
        features.extend(crc32(b"c" + run[start : start + size].encode()) for start in range(len(run) - size + 1))
    return features


MODEL = Path(__file__).parents[1] / "model"
CACHED_WORDS = 16_384  # a kilobyte each; requests and tools of one catalog share most of their words
LATEST_WORDS = CACHED_WORDS // 2
TEXTS_AT_ONCE = 256  # their words are held until all are read
WORDS_AT_ONCE = 16  # larger blocks are mostly zeros

# A weight is a whole number from -3 to 3, in three bits. A code of twelve bits holds four: one look-up unpacks them.
_FOURS = (np.arange(4_096)[:, None] >> np.array([0, 3, 6, 9]) & 7).astype(np.float64) - 4


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
        """The vectors of single words, not cut to length: the longer, the more a word counts in a text."""
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
        add_words = compiled.add_words if compiled else _add_words
        for row, found in enumerate(split):
            if found:
                add_words([known[word] for word in found], out[row])

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
        """The vectors of words that are not at hand."""
        for start in range(0, len(words), WORDS_AT_ONCE):
            some = words[start : start + WORDS_AT_ONCE]
            if compiled:
                summed = np.empty((len(some), self.dimensions), dtype=np.float32)
                plains = [pieced(word) for word in some]
                compiled.add_features(some, plains, *self._features, self._levels, self._scales, summed)
            else:
                summed = self._sum_features(some).astype(np.float32)
            # Each on its own: one that is kept would keep the others.
            yield from [row.copy() for row in summed]

    def _sum_features(self, words: Sequence[str]) -> NDArray[np.float64]:
        bags = [word_features(word) for word in words]
        wanted = np.array([feature for bag in bags for feature in bag], dtype=np.uint32)
        features = self._features.numbers
        found = np.searchsorted(features, wanted)
        known = np.flatnonzero(features.take(found, mode="clip") == wanted)
        rows = found.take(known)
        scales = self._scales.take(rows, axis=0).astype(np.float64)
        groups = scales.shape[1]
        weights = _FOURS.take(_codes(self._levels.take(rows, axis=0)), axis=0)
        weights = weights.reshape(len(rows), groups, self.dimensions // groups)
        # One product a group of weights scales the rows and adds up each word's: [group, word, row] @ [group, row, :].
        owner = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags]).take(known)
        share = np.zeros((groups, len(bags), len(rows)))
        share[:, owner, np.arange(len(rows))] = scales.T
        summed = np.empty((len(bags), *weights.shape[1:]))
        np.matmul(share, weights.transpose(1, 0, 2), out=summed.transpose(1, 0, 2))
        return summed.reshape(len(bags), -1)

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
    """The features that have a row, in order, and where those begin that have the same first sixteen bits."""

    numbers: NDArray[np.uint32]
    starts: NDArray[np.uint32]


@lru_cache(maxsize=4)
def known_features(folder: Path) -> Features:
    """The features of a model."""
    # Searched for every new word: half a megabyte is better held than mapped.
    numbers: NDArray[np.uint32] = np.load(folder / "features.npy")
    return Features(numbers, numbers.searchsorted(np.arange(65_537, dtype=np.uint64) << 16).astype(np.uint32))


def _add_words(vectors: Sequence[Vectors], out: Vectors) -> None:
    summed = np.add.reduce(vectors, dtype=np.float64)
    # Not a dot product: each platform adds up that in an order of its own.
    length = sqrt(np.add.reduce(summed * summed))
    out[:] = summed / length if length else 0.0


def _codes(packed: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """The codes of rows: first the low bytes of all, then the high halves, of one code of each half of the row."""
    third = packed.shape[1] // 3
    wide = packed.astype(np.uint16)
    low, high = wide[:, : 2 * third], wide[:, 2 * third :]
    low[:, :third] |= (high & 15) << 8
    low[:, third:] |= high >> 4 << 8
    return low


def checked(embedder: Embedder) -> Embedder:
    """The embedder with its vectors checked; the built-in one needs no check, and is asked in microseconds."""
    return embedder if isinstance(embedder, BuiltinEmbedder | CheckedEmbedder) else CheckedEmbedder(embedder)
