"""From words to 32-bit hashes: the features whose vectors the built-in embedder adds up, and keys of the typo index.

The compiled kernels compute the same hashes (`features.c`). A change here needs a new model.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from zlib import crc32

MAX_LETTERS = 64  # what is longer is no word but a key, a hash, a picture in letters: it may not drown the others
MAX_GRAMS_PER_SIZE = 20
MAX_RUN = 60


@lru_cache(maxsize=512)  # an unknown word of a query is read by the typo index, then by the embedder
def feature_hashes(word: str, plain: str | None) -> tuple[int, ...]:
    """The features of a word: the word as a whole, then the n-grams of its plain form.

    A run of a script without spaces has no plain form; its n-grams are shorter.
    """
    return tuple(_run_features(word) if plain is None else _spelled_features(word, plain))


def whole_word(word: str) -> int:
    """The feature of a word as a whole."""
    return crc32(b"w" + word[:MAX_LETTERS].encode())


def whole_words(head: str, middles: Iterable[str], tail: str) -> list[int]:
    """The same for all words that begin and end alike, in a third of the time."""
    begun, ended = crc32(b"w" + head.encode()), tail.encode()
    return [crc32(middle.encode() + ended, begun) for middle in middles]


def piece(text: str) -> int:
    """The feature of an n-gram."""
    return crc32(text.encode())


def deletion_hashes(word: str) -> list[int]:
    """The hashes of a word and of all its forms that lack one letter."""
    if word.isascii():
        letters = word.encode()
        return [crc32(letters), *(crc32(letters[:at] + letters[at + 1 :]) for at in range(len(letters)))]
    return [crc32(word.encode()), *(crc32((word[:at] + word[at + 1 :]).encode()) for at in range(len(word)))]


def _spelled_features(word: str, plain: str) -> list[int]:
    features = [whole_word(word)]
    bare = f"<{plain[:MAX_LETTERS]}>"
    if len(bare) <= 3:
        return features
    if bare.isascii():
        letters = bare.encode()
        return features + [crc32(letters[start:end]) for start, end in _gram_bounds(len(bare))]
    return features + [piece(bare[start:end]) for start, end in _gram_bounds(len(bare))]


@cache
def _gram_bounds(length: int) -> tuple[tuple[int, int], ...]:
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
