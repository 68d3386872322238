"""The words of a catalogue, and the ones a request may have meant: other endings, parts of compounds, one typo."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable
from math import ceil

from toolcrib.search.slips import Slips

MIN_PREFIX = 4  # shorter beginnings are shared by words that have nothing to do with each other
MIN_PART = 4
MAX_ENDING = 3
MAX_GUESSES = 12
LAST = "\U0010ffff"  # stands behind every letter


class Vocabulary:
    """Counts in how many tools each word stands."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._ordered: list[str] = []
        self._slips = Slips()

    def __contains__(self, word: object) -> bool:
        return word in self._counts

    def __len__(self) -> int:
        return len(self._counts)

    def add_all(self, tools_words: Iterable[Iterable[str]]) -> None:
        """Count the words of several tools, each word once a tool."""
        fresh: list[str] = []
        for tool_words in tools_words:
            for word in tool_words:
                if word not in self._counts:
                    fresh.append(word)
                    self._slips.add(word)
                self._counts[word] += 1
        if len(fresh) > 64:
            self._ordered = sorted(self._counts)
        else:
            for word in fresh:
                insort(self._ordered, word)

    def count(self, word: str, tools: int) -> None:
        """Know a word that stands in so many tools, as somebody else counted."""
        self.add_all([[word]])
        self._counts[word] = tools

    def remove(self, tool_words: Iterable[str]) -> None:
        """Forget one tool's words."""
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
        return [known for known in self._slips.near(word) if known in self._counts]

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
