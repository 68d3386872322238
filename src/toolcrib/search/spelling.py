"""Words told from slips of the fingers, by what the built-in embedder has met.

It has a row for most pieces of the words of eighty languages, and for few pieces of what nobody writes: of a word, nine
pieces in ten are there, of a misspelled one six. So a word of which much is strange, one slip away from a word of the
catalogue or from a single frequent word of any language, was meant to be that word.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.builtin_embedder import MODEL, known_features
from toolcrib.search.features import whole_word, whole_words, word_features
from toolcrib.search.slips import MAX_LETTERS, MIN_LETTERS

# How much of a misspelled word may be familiar, by what the fingers did. Swapped letters seldom make another word, one
# letter for another often does (`films` and `files`). Of the words of the train splits that stand one slip from a word
# of their catalogue, 3 in 100 are misread with these, and three quarters of misspelled ones are mended.
SWAPPED, DOUBLED, LOST, FOREIGN = 0.85, 0.8, 0.75, 0.6
LOST_ANYWHERE = 0.65  # of a word that the catalogue does not have: two hundred words are looked for then
A_WORD = 0.85  # what is meant is familiar; a row may be another feature's by chance
_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ", "αβγδεζηθικλμνξοπρστυφχψω")
_LETTERS = {letter: letters for letters in _ALPHABETS for letter in letters}


def mended(word: str, near: Sequence[str]) -> str:
    """The word that was meant by this one; empty when it may well be a word. `near` are known ones, one slip away."""
    if not MIN_LETTERS <= len(word) <= MAX_LETTERS or not word.isalpha():
        return ""
    met = familiarity(word)
    if met >= SWAPPED:
        return ""
    if near:
        # Fingers seldom slip on the first letter: `heather` is not `weather`.
        likely = (known for known in near if known[0] == word[0] and met < _limit(word, known))
        return next(likely, "")
    return _frequent_word(word, met)


@lru_cache(maxsize=4_096)
def familiarity(word: str) -> float:
    """How much of a word was met, piece by piece, 0..1."""
    pieces = word_features(word)[1:]
    return float(np.count_nonzero(_met(pieces)) / len(pieces)) if pieces else 1.0


def _limit(word: str, meant: str) -> float:
    """How familiar a word may be that was typed for another, one slip away."""
    if len(word) < len(meant):
        return LOST
    if len(word) == len(meant):
        return SWAPPED if sorted(word) == sorted(meant) else FOREIGN
    at = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(word, meant, strict=False))))
    return DOUBLED if word[at] == word[at - 1] else FOREIGN


@lru_cache(maxsize=4_096)
def _frequent_word(word: str, met: float) -> str:
    """The one frequent word of any language that is a slip away; empty where there are several."""
    forms = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(1, len(word) - 1)]
    if met < DOUBLED:
        forms += [word[:at] + word[at + 1 :] for at in range(1, len(word)) if word[at] == word[at - 1]]
    found = [forms[at] for at in np.flatnonzero(_met([whole_word(form) for form in forms]))]
    if met < LOST_ANYWHERE:
        found += _with_one_letter_more(word, _LETTERS.get(word[0], ()))
    there = {form for form in found if form != word and familiarity(form) >= A_WORD}
    return there.pop() if len(there) == 1 else ""


def _with_one_letter_more(word: str, letters: Sequence[str]) -> list[str]:
    features = [feature for at in range(1, len(word) + 1) for feature in whole_words(word[:at], letters, word[at:])]
    places = [divmod(place, len(letters)) for place in np.flatnonzero(_met(features)).tolist()]
    return [word[: at + 1] + letters[letter] + word[at + 1 :] for at, letter in places]


def _met(features: Sequence[int]) -> NDArray[np.bool_]:
    known, wanted = known_features(MODEL), np.array(features, dtype=np.uint32)
    return known.take(known.searchsorted(wanted), mode="clip") == wanted
