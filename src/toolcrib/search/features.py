"""From words to the features whose vectors the built-in embedder adds up.

A word gives itself and the character 3- to 6-grams of its plain form, so that inflections, compounds, typos and missing
accents still share most of their features. A run of an unspaced script gives its 1-, 2- and 3-grams. A feature is the
CRC-32 of its text: the same on every platform, and no dictionary to ship.

Training reads texts through this module too; a change here needs a new model.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from zlib import crc32

from toolcrib.search.text import is_run, plain, words

MAX_WORDS = 160  # a request or tool text says what it is about well before that
MAX_LETTERS = 64  # what is longer is no word but a key, a hash, a picture in letters: it may not drown the others
MAX_GRAMS_PER_SIZE = 20
MAX_RUN = 60


@lru_cache(maxsize=512)  # an unknown word of a request is looked at by the speller, then by the embedder
def word_features(word: str) -> tuple[int, ...]:
    """The features of one word, as 32-bit numbers: the word for itself, then its pieces."""
    return tuple(_run_features(word) if is_run(word) else _spelled_features(word))


def pieced(word: str) -> str | None:
    """The form of a word that pieces are taken of; None for a run, which gives its own."""
    return None if is_run(word) else plain(word)


def text_words(text: str) -> list[str]:
    """The words of a text that count, in order."""
    return [word for word in words(text)[:MAX_WORDS] if len(word) <= MAX_LETTERS or is_run(word)]


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
