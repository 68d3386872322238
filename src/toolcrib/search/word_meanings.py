"""Candidates read word by word: what the request asks for that a tool speaks of, and the other way round.

The vector of a text is the sum of its words: one telling word among twenty drowns, and what a tool's parameters say is
not in its vector at all. So each word of the request looks for the word of the tool that means nearly the same, and
each word of the tool for one of the request. The words' vectors are the built-in embedder's, whichever embedder the
dense arm has.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.builtin_embedder import BuiltinEmbedder
from toolcrib.search.embedder import Vectors
from toolcrib.search.fillers import FILLERS
from toolcrib.search.growing_rows import GrowingRows
from toolcrib.search.text import is_run, words

DIMENSIONS = 64  # of the 256; the table is turned so that its first ones tell most
TOOL_WORDS = 64
REQUEST_WORDS = 32
RECENT = 4_096  # words of requests that are kept at hand
MIN_WASTE = 4_096  # words of tools that left; fewer are not worth tidying up
_WORDLESS = np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.float32)


class Closeness(NamedTuple):
    """How close each candidate is to a request, word by word: 1 where every word has its like."""

    asked: NDArray[np.float64]  # of the request, how much the tool speaks of
    told: NDArray[np.float64]  # of the tool, how much the request asks for


class WordMeanings:
    """The words of a changing set of tools, by number, and what they mean."""

    def __init__(self, embedder: BuiltinEmbedder) -> None:
        self._embedder = embedder
        self._asked: dict[str, tuple[Vectors, np.float32]] = {}  # words of requests: direction and worth
        self._forget()

    def put(self, tools: Iterable[tuple[int, Iterable[str]]]) -> None:
        """Hold the words of more tools."""
        held = {number: list(islice(_telling(own), TOOL_WORDS)) for number, own in tools}
        self._learn(dict.fromkeys(word for own in held.values() for word in own if word not in self._ids))
        worth = self._worth.view.ravel()
        for number, own in held.items():
            ids = np.array([self._ids[word] for word in own] or [0], dtype=np.int32)
            self._held[number] = ids, worth[ids] / worth[ids].sum()
            self._used += len(ids)

    def remove(self, number: int) -> None:
        """Forget the words of a tool."""
        if number in self._held:
            ids, _ = self._held.pop(number)
            self._used -= len(ids)
            self._waste += len(ids)
            if self._waste > max(MIN_WASTE, self._used):
                self._tidy()

    def read(self, text: str, numbers: Sequence[int]) -> Closeness:
        """How close these tools are to a request."""
        if not len(numbers) or not words(text):
            return Closeness(np.zeros(len(numbers)), np.zeros(len(numbers)))
        asked, weights = self._request(text)
        held = [self._held.get(number, _WORDLESS) for number in numbers]
        starts = np.cumsum([0, *(len(ids) for ids, _ in held[:-1])])
        ids, shares = (np.concatenate(side) for side in zip(*held, strict=True))
        near = self._rows.view.take(ids, axis=0) @ asked.T  # tall by narrow: the other way takes twice as long
        found = np.maximum.reduceat(near, starts, axis=0) @ weights
        closest = near[:, 0].copy()
        for column in near.T[1:]:  # a dozen long steps instead of a thousand short ones
            np.maximum(closest, column, out=closest)
        spoken = np.add.reduceat(closest * shares, starts)
        return Closeness(found.astype(np.float64), spoken.astype(np.float64))

    def _request(self, text: str) -> tuple[Vectors, Vectors]:
        """The directions of the request's words, and what each counts; together they count 1."""
        said = words(text)
        telling = list(islice(_telling(said), REQUEST_WORDS)) or list(dict.fromkeys(said))[:REQUEST_WORDS]
        # The parts of a request have the words of the whole, and people ask for the same things.
        if len(self._asked) + len(telling) > RECENT:
            self._asked.clear()
        if fresh := [word for word in telling if word not in self._asked]:
            self._asked.update(zip(fresh, zip(*_apart(self._embedder.embed_words(fresh)), strict=True), strict=True))
        known = [self._asked[word] for word in telling]
        worth = np.array([own for _, own in known], dtype=np.float32)
        return np.array([direction for direction, _ in known], dtype=np.float32), worth / worth.sum()

    def _learn(self, fresh: Iterable[str]) -> None:
        new = list(fresh)
        if new:
            directions, worth = _apart(self._embedder.embed_words(new))
            self._ids.update((word, len(self._rows) + place) for place, word in enumerate(new))
            self._rows.extend(directions)
            self._worth.extend(worth[:, None])

    def _forget(self) -> None:
        self._ids: dict[str, int] = {"": 0}  # what a tool without words has
        self._rows, self._worth = GrowingRows(DIMENSIONS, np.float32), GrowingRows(1, np.float32)
        self._rows.extend(np.zeros((1, DIMENSIONS), dtype=np.float32))
        self._worth.extend(np.ones((1, 1), dtype=np.float32))
        self._held: dict[int, tuple[NDArray[np.int32], Vectors]] = {}  # words by number, and their shares of the tool
        self._used = self._waste = 0  # words of the tools that are here, and of those that left

    def _tidy(self) -> None:
        """Let go of words that no tool has any more."""
        spelled = list(self._ids)
        held = [(number, [spelled[int(word)] for word in ids if word]) for number, (ids, _) in self._held.items()]
        self._forget()
        self.put(held)


def _telling(said: Iterable[str]) -> Iterator[str]:
    """The words that can point at a tool, each once; a run of an unspaced script in pieces of two characters."""
    seen: set[str] = set(FILLERS)
    for word in said:
        for piece in [word[at : at + 2] for at in range(len(word) - 1)] if len(word) > 2 and is_run(word) else [word]:
            if piece not in seen:
                seen.add(piece)
                yield piece


def _apart(vectors: Vectors) -> tuple[Vectors, Vectors]:
    """Directions of length one, and what each word is worth: the longer a word's vector, the more it says."""
    worth, length = (np.sqrt(np.einsum("wd,wd->w", side, side)) + 1e-6 for side in (vectors, vectors[:, :DIMENSIONS]))
    return vectors[:, :DIMENSIONS] / length[:, None], worth
