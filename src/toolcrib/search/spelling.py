"""Words told from slips of the fingers, by what the built-in embedder has met.

It has a row for most pieces of the words of eighty languages, and for few pieces of what nobody writes: of a word, nine
pieces in ten are there, of a misspelled one six. So a word of which much is strange, one slip away from a word of the
catalogue or from a single familiar word of any language, was meant to be that word.
"""

from collections.abc import Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise

import numpy as np

from toolcrib.search.builtin_embedder import MODEL, known_features
from toolcrib.search.compiled import compiled
from toolcrib.search.features import piece, pieced, whole_words, word_features
from toolcrib.search.slips import MAX_LETTERS, MIN_LETTERS
from toolcrib.search.text import plain

# How much of a misspelled word may be familiar, by what the fingers did. Swapped letters seldom make another word (but
# `domani` is Italian, no `domain`), one letter for another often does (`films` and `files`). Of the words of the train
# splits that stand one slip from a word of their catalogue, 3 in 100 are misread with these, and three quarters of
# misspelled ones are mended.
SWAPPED, DOUBLED, LOST, FOREIGN = 0.8, 0.8, 0.75, 0.6
LOST_ANYWHERE = 0.65  # of a word that the catalogue does not have: two hundred words are looked for then
STRANGE = 0.75  # less of it was met: a word that no tool has is mended, too
A_WORD, FAR, APART = 0.85, 0.25, 0.1  # what is meant is familiar, far more than what was typed and than any other form
SEAM = 4  # letters around the place of a slip
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
        return next((known for known in near if met < _limit(word, known)), "")
    return _plain_word(word, met) if met < STRANGE else ""


@lru_cache(maxsize=4_096)
def familiarity(word: str) -> float:
    """How much of a word was met, piece by piece, 0..1."""
    if compiled:
        return compiled.share_met(word, pieced(word), *known_features(MODEL))
    pieces = word_features(word)[1:]
    return len(_met(pieces)) / len(pieces) if pieces else 1.0


def _limit(word: str, meant: str) -> float:
    """How familiar a word may be that was typed for another, one slip away."""
    if sorted(word) == sorted(meant):
        return SWAPPED
    if word[0] != meant[0]:  # fingers seldom slip there: `heather` is not `weather`
        return 0.0
    if len(word) < len(meant):
        return LOST
    at = next(at for at, letter in enumerate(word) if letter != meant[at : at + 1])
    return DOUBLED if len(word) > len(meant) and word[at] == word[at - 1] else FOREIGN


@lru_cache(maxsize=4_096)
def _plain_word(word: str, met: float) -> str:
    """The word of any language that is a slip away, where there is just one."""
    # A lost letter may be any, anywhere: only words with a row of their own are looked for.
    more = _with_one_letter_more(word, _LETTERS.get(word[0], ())) if met < LOST_ANYWHERE else []
    if there := [form for form in more if familiarity(form) > A_WORD]:
        return there[0] if len(there) == 1 else ""
    forms = [(familiarity(form), form) for form in _swapped_or_doubled(word)]
    first, second = nlargest(2, [*forms, (0.0, ""), (0.0, "")])
    return first[1] if first[0] > max(A_WORD, met + FAR, second[0] + APART) else ""


def _swapped_or_doubled(word: str) -> list[str]:
    """What may have been meant, if letters were swapped or doubled; only what is no stranger where it was mended."""
    pairs = list(enumerate(pairwise(word)))
    forms = {word[:at] + second + first + word[at + 2 :]: at for at, (first, second) in pairs[1:] if first != second}
    forms |= {word[:at] + word[at + 1 :]: at for at, (first, second) in pairs if first == second}
    seams = [piece(f"<{plain(form)}>"[at : at + SEAM]) for form, at in forms.items()]
    names = list(forms)
    return [names[place] for place in _met(seams)]


def _with_one_letter_more(word: str, letters: Sequence[str]) -> list[str]:
    features = [feature for at in range(1, len(word) + 1) for feature in whole_words(word[:at], letters, word[at:])]
    places = [divmod(place, len(letters)) for place in _met(features)]
    return [word[: at + 1] + letters[letter] + word[at + 1 :] for at, letter in places]


def _met(features: Sequence[int]) -> list[int]:
    """The places of those that the embedder has met."""
    known = known_features(MODEL)
    if compiled:
        return compiled.met(list(features), *known)
    wanted = np.array(features, dtype=np.uint32)
    found = known.numbers.take(known.numbers.searchsorted(wanted), mode="clip") == wanted
    places: list[int] = np.flatnonzero(found).tolist()
    return places
