"""Typo correction, with the n-grams that the built-in embedder knows.

It has a row for most n-grams of the words of eighty languages: it knows nine in ten of a real word, and six in ten of a
misspelled one. So a word with many unknown n-grams that is one edit away from a word of the catalog, or from a single
known word of any language, is corrected to that word.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.search import kernels
from toolcrib.search.embedders.builtin import MODEL, known_features, ngram_form
from toolcrib.search.kernels.hashing import deletion_hashes, piece, whole_words
from toolcrib.search.saved import Arrays, check, check_below, taken
from toolcrib.search.text import plain

# Words one edit apart: a letter deleted, inserted or substituted, or two transposed.

MIN_LETTERS, MAX_LETTERS = 5, 20  # an edit of a shorter word makes another word
RECENT = 2_000  # words kept in a dict before the arrays are sorted again


class TypoIndex:
    """Words by the hashes of their deletions. Words are never removed: callers filter the ones that are gone."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._sorted = 0  # how many of the words the arrays cover
        self._sums: NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
        self._owners: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._recent: dict[int, list[str]] = {}
        self._known: set[str] = set()

    @classmethod
    def of(cls, words: Iterable[str]) -> "TypoIndex":
        """The words, sorted at once."""
        typos = cls()
        for word in words:
            typos.add(word)
        typos._sort()
        return typos

    @classmethod
    def restored(cls, words: Iterable[str], arrays: Arrays) -> "TypoIndex":
        """What `of` made of these words, from the arrays that `saved` gave."""
        typos = cls()
        for word in words:
            typos.add(word)
        sums = taken(arrays, "typos.sums", "uint32", None)
        owners = taken(arrays, "typos.owners", "int64", len(sums))
        check((sums[:-1] <= sums[1:]).all(), "typos")
        check_below(owners, len(typos._words))
        typos._sums, typos._owners, typos._sorted = sums, owners, len(typos._words)
        return typos

    def saved(self) -> dict[str, NDArray[Any]]:
        """What `restored` needs besides the words."""
        return {"typos.sums": self._sums, "typos.owners": self._owners}

    def add(self, word: str) -> None:
        """Add a word."""
        if MIN_LETTERS <= len(word) <= MAX_LETTERS and word not in self._known:
            self._known.add(word)
            self._words.append(word)
            if self._sorted:
                for form in deletion_hashes(word):
                    self._recent.setdefault(form, []).append(word)

    def near(self, word: str) -> list[str]:
        """The known words one edit away."""
        if not MIN_LETTERS <= len(word) <= MAX_LETTERS or not word.isalpha():
            return []
        if not self._sorted or len(self._words) - self._sorted > RECENT:
            self._sort()
        if not self._sorted:
            return []
        found = {self._words[owner] for owner in self._owners_near(word)}
        if self._recent:
            for form in deletion_hashes(word):
                found.update(self._recent.get(form, ()))
        return [known for known in sorted(found) if is_one_edit_apart(word, known)]

    def _owners_near(self, word: str) -> list[int]:
        """The sorted words that share a deletion with this one."""
        return kernels.deletion_matches(word, self._sums, self._owners)

    def _sort(self) -> None:
        forms = [deletion_hashes(word) for word in self._words]
        sums = np.array([form for own in forms for form in own], dtype=np.uint32)
        owners = np.repeat(np.arange(len(forms)), [len(own) for own in forms])
        order = np.argsort(sums, kind="stable")
        self._sums, self._owners = sums[order], owners[order]
        self._sorted = len(self._words)
        self._recent = {}


def is_one_edit_apart(one: str, other: str) -> bool:
    """Whether one edit, or one swap of neighbours, makes the words equal."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if len(one) == len(other):
        return one[at + 1 :] == other[at + 1 :] or (
            one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
        )
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return longer[at + 1 :] == shorter[at:]


# How much of a misspelled word may be familiar, by the kind of edit. Swapped letters seldom make another word (but
# `domani` is Italian, not `domain`), one letter for another often does (`films` and `files`). Of the words of the train
# splits that are one edit away from a word of their catalog, 3 in 100 are miscorrected with these limits, and three
# quarters of the misspelled ones are corrected.
SWAPPED, DOUBLED, LOST, FOREIGN = 0.8, 0.8, 0.75, 0.6
LOST_ANYWHERE = 0.65  # of a word that the catalog does not have: two hundred words are looked for then
STRANGE = 0.75  # below this, a word that no tool has is corrected, too
A_WORD, FAR, APART = 0.85, 0.25, 0.1  # what is meant is familiar, far more than what was typed and than any other form
SEAM = 4  # letters around an edit
_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ", "αβγδεζηθικλμνξοπρστυφχψω")
_LETTERS = {letter: letters for letters in _ALPHABETS for letter in letters}


def corrected(word: str, near: Sequence[str]) -> str:
    """The likely correction of a typo; empty if the word looks real. `near` are known words one edit away."""
    if not MIN_LETTERS <= len(word) <= MAX_LETTERS or not word.isalpha():
        return ""
    known = familiarity(word)
    if known >= SWAPPED:
        return ""
    if near:
        return next((other for other in near if known < _limit(word, other)), "")
    return _plain_word(word, known) if known < STRANGE else ""


@lru_cache(maxsize=4_096)
def familiarity(word: str) -> float:
    """The share of a word's n-grams that the embedder knows, 0..1."""
    return kernels.known_share(word, ngram_form(word), *known_features(MODEL))


def _limit(word: str, meant: str) -> float:
    """The familiarity below which a word is a typo of another one, by the kind of edit."""
    if sorted(word) == sorted(meant):
        return SWAPPED
    if word[0] != meant[0]:  # first letters are seldom wrong: `heather` is not `weather`
        return 0.0
    if len(word) < len(meant):
        return LOST
    at = next(at for at, letter in enumerate(word) if letter != meant[at : at + 1])
    return DOUBLED if len(word) > len(meant) and word[at] == word[at - 1] else FOREIGN


@lru_cache(maxsize=4_096)
def _plain_word(word: str, known: float) -> str:
    """The word of any language that is one edit away, if there is exactly one."""
    # A missing letter can be any, anywhere: only whole words that the embedder knows are tried.
    more = _with_one_letter_more(word, _LETTERS.get(word[0], ())) if known < LOST_ANYWHERE else []
    if there := [form for form in more if familiarity(form) > A_WORD]:
        return there[0] if len(there) == 1 else ""
    forms = [(familiarity(form), form) for form in _swapped_or_doubled(word)]
    first, second = nlargest(2, [*forms, (0.0, ""), (0.0, "")])
    return first[1] if first[0] > max(A_WORD, known + FAR, second[0] + APART) else ""


def _swapped_or_doubled(word: str) -> list[str]:
    """Corrections of transposed or doubled letters whose n-grams around the edit are known."""
    pairs = list(enumerate(pairwise(word)))
    forms = {word[:at] + second + first + word[at + 2 :]: at for at, (first, second) in pairs[1:] if first != second}
    forms |= {word[:at] + word[at + 1 :]: at for at, (first, second) in pairs if first == second}
    seams = [piece(f"<{plain(form)}>"[at : at + SEAM]) for form, at in forms.items()]
    names = list(forms)
    return [names[place] for place in _known_positions(seams)]


def _with_one_letter_more(word: str, letters: Sequence[str]) -> list[str]:
    features = [feature for at in range(1, len(word) + 1) for feature in whole_words(word[:at], letters, word[at:])]
    places = [divmod(place, len(letters)) for place in _known_positions(features)]
    return [word[: at + 1] + letters[letter] + word[at + 1 :] for at, letter in places]


def _known_positions(features: Sequence[int]) -> list[int]:
    """The positions of the features that the embedder knows."""
    return kernels.known_positions(list(features), *known_features(MODEL))


# The words of a catalog, and the ones a request may have meant: other endings, parts of compounds, one typo.

MIN_PREFIX = 4  # shorter beginnings are shared by words that have nothing to do with each other
MIN_PART = 4
MAX_ENDING = 3
MAX_GUESSES = 12
LAST = "\U0010ffff"  # stands behind every letter


class Vocabulary:
    """The words of all tools, with their document frequencies."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._ordered: list[str] = []
        self._typos = TypoIndex()

    @classmethod
    def restored(cls, words: list[str], counts: Iterable[int], arrays: Arrays) -> "Vocabulary":
        """These words with their document frequencies, from the arrays that `saved` gave."""
        vocabulary = cls()
        vocabulary._counts = Counter(dict(zip(words, counts, strict=True)))
        vocabulary._ordered = sorted(words)
        vocabulary._typos = TypoIndex.restored(words, arrays)
        return vocabulary

    def saved(self) -> dict[str, NDArray[Any]]:
        """What `restored` needs besides words and frequencies."""
        self._typos = TypoIndex.of(self._counts)  # without the words that are gone
        return self._typos.saved()

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __contains__(self, word: object) -> bool:
        return word in self._counts

    def __len__(self) -> int:
        return len(self._counts)

    def add_all(self, tools_words: Iterable[Iterable[str]]) -> None:
        """Add the words of tools, each word once per tool."""
        fresh: list[str] = []
        for tool_words in tools_words:
            for word in tool_words:
                if word not in self._counts:
                    fresh.append(word)
                    self._typos.add(word)
                self._counts[word] += 1
        if len(fresh) > 64:
            self._ordered = sorted(self._counts)
        else:
            for word in fresh:
                insort(self._ordered, word)

    def count(self, word: str, tools: int) -> None:
        """Add a word whose document frequency was counted elsewhere."""
        self.add_all([[word]])
        self._counts[word] = tools

    def remove(self, tool_words: Iterable[str]) -> None:
        """Remove the words of one tool."""
        for word in tool_words:
            self._counts[word] -= 1
            if not self._counts[word]:
                del self._counts[word]
                del self._ordered[bisect_left(self._ordered, word)]

    def guesses(self, word: str) -> list[str]:
        """Known words that an unknown one may stand for, the most likely kind of guess only."""
        found = self._inflections(word) or self._misspelled(word) or self._parts(word)
        if len(found) < 2:
            return found
        return sorted(set(found), key=lambda known: (-self._counts[known], known))[:MAX_GUESSES]

    def _inflections(self, word: str) -> list[str]:
        """Words with the same beginning and another ending: `zdjęcia` and `zdjęcie`, `auth` and `authenticate`."""
        size = len(word)
        shortest = max(MIN_PREFIX, ceil(size * 0.6), size - MAX_ENDING)
        if size < shortest or not (sisters := self._starting(word[:shortest])):
            return []
        for end in range(size, shortest - 1, -1):
            # A whole word may be the start of a much longer one; a shortened one only of its sister forms.
            longest = end + (8 if end == size else MAX_ENDING)
            found = [known for known in sisters if len(known) <= longest and known.startswith(word[:end])]
            if found:
                return found
        return []

    def _misspelled(self, word: str) -> list[str]:
        return [known for known in self._typos.near(word) if known in self._counts]

    def _parts(self, word: str) -> list[str]:
        """Known words that a compound begins or ends with: `Bild` and `suche` in `Bildersuche`."""
        size = len(word)
        begins = [word[:end] for end in range(size - 1, MIN_PART - 1, -1) if word[:end] in self._counts]
        ends = [word[start:] for start in range(1, size - MIN_PART + 1) if word[start:] in self._counts]
        return begins[:1] + ends[:1]

    def _starting(self, stem: str) -> list[str]:
        first = bisect_left(self._ordered, stem)
        if first == len(self._ordered) or not self._ordered[first].startswith(stem):
            return []
        return self._ordered[first : bisect_left(self._ordered, f"{stem}{LAST}", first)]
