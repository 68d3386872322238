"""Names that are nearly the same. Fast for many names, where comparing each with each would take minutes."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import takewhile


class Spellings:
    """A set of names that can be asked which of them are nearly a given one."""

    def __init__(self, names: Iterable[str]) -> None:
        # Names one letter apart become the same when each loses (at most) one letter.
        self._by_trace: defaultdict[str, list[str]] = defaultdict(list)
        for name in names:
            for trace in _traces(name):
                self._by_trace[trace].append(name)

    def near(self, name: str) -> list[str]:
        """The other names that differ by case, one letter, or two neighbours swapped."""
        candidates = {other for trace in _traces(name) for other in self._by_trace.get(trace, ())}
        return sorted(other for other in candidates if other != name and nearly_same(name, other))


def nearly_same(one: str, other: str) -> bool:
    """Whether two names differ by case, one letter, or two neighbours swapped."""
    left, right = difference(one, other)
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])


def difference(one: str, other: str) -> tuple[str, str]:
    """What is left of two names, case aside, without what they begin and end with in common."""
    one, other = one.casefold(), other.casefold()
    start = _shared_letters(one, other)
    one, other = one[start:], other[start:]
    end = _shared_letters(one[::-1], other[::-1])
    return one[: len(one) - end], other[: len(other) - end]


def _shared_letters(one: str, other: str) -> int:
    """How many letters two names have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _traces(name: str) -> set[str]:
    folded = name.casefold()
    return {folded, *(folded[:at] + folded[at + 1 :] for at in range(len(folded)))}
