"""Words one slip of the fingers apart: a letter lost, doubled, foreign, or two swapped.

Two such words share a form that lacks one letter of each. The forms of all words are kept as sorted 32-bit sums, which
takes a hundredth of the time of trying every letter in every place, and a tenth of the memory of a dictionary.
"""

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.compiled import compiled

MIN_LETTERS, MAX_LETTERS = 5, 20  # a slip in a shorter word makes another word
RECENT = 2_000  # words that are looked through one by one before the sums are sorted anew


class Slips:
    """Known words by their shortened forms. Words are only ever added; who asks must know which still count."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._sorted = 0  # how many of the words the arrays cover
        self._sums: NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
        self._owners: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._recent: dict[int, list[str]] = {}
        self._known: set[str] = set()

    def add(self, word: str) -> None:
        """Know one more word."""
        if MIN_LETTERS <= len(word) <= MAX_LETTERS and word not in self._known:
            self._known.add(word)
            self._words.append(word)
            if self._sorted:
                for form in shortened_forms(word):
                    self._recent.setdefault(form, []).append(word)

    def near(self, word: str) -> list[str]:
        """The known words one slip away."""
        if not MIN_LETTERS <= len(word) <= MAX_LETTERS or not word.isalpha():
            return []
        if not self._sorted or len(self._words) - self._sorted > RECENT:
            self._sort()
        if not self._sorted:
            return []
        found = {self._words[owner] for owner in self._owners_near(word)}
        if self._recent:
            for form in shortened_forms(word):
                found.update(self._recent.get(form, ()))
        return [known for known in sorted(found) if one_slip_apart(word, known)]

    def _owners_near(self, word: str) -> list[int]:
        """Which words share a form with this one, as far as they are sorted."""
        if compiled:
            return compiled.one_slip(word, self._sums, self._owners)
        wanted = np.array(shortened_forms(word), dtype=np.uint32)
        first = self._sums.searchsorted(wanted)
        owners: list[int] = []
        # Most words are near no other: only the forms that are there are followed to the end of their equals.
        for start in first[self._sums.take(first, mode="clip") == wanted].tolist():
            end = int(self._sums.searchsorted(self._sums[start], side="right"))
            owners += self._owners[start:end].tolist()
        return owners

    def _sort(self) -> None:
        forms = [shortened_forms(word) for word in self._words]
        sums = np.array([form for own in forms for form in own], dtype=np.uint32)
        owners = np.repeat(np.arange(len(forms)), [len(own) for own in forms])
        order = np.argsort(sums, kind="stable")
        self._sums, self._owners = sums[order], owners[order]
        self._sorted = len(self._words)
        self._recent = {}


def one_slip_apart(one: str, other: str) -> bool:
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


def shortened_forms(word: str) -> list[int]:
    """The sums of a word and of all its forms that lack one letter."""
    letters = word.encode() if word.isascii() else None
    if letters is not None:
        return [crc32(letters), *(crc32(letters[:at] + letters[at + 1 :]) for at in range(len(letters)))]
    return [crc32(word.encode()), *(crc32((word[:at] + word[at + 1 :]).encode()) for at in range(len(word)))]
