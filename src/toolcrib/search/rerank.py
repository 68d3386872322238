"""Late interaction: candidates are compared with the query word by word.

The vector of a text is the sum of its words: one important word among twenty is lost, and a tool's parameters are not
in its vector at all. So each word of the query is matched with the most similar word of the tool, and each word of the
tool with one of the query. The word vectors come from the built-in embedder, whichever embedder the dense arm has.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.kernels.plain import coverage, directions_and_weights
from toolcrib.search.kernels.rows import GrowingRows, Places, RowBlocks, Vectors
from toolcrib.search.saved import Arrays, check, check_below, packed, taken, unpacked
from toolcrib.search.text import STOP_WORDS, content_words, is_unspaced, words

DIMENSIONS = 64  # of 256; the table is rotated so that the first ones carry most of the variance
TOOL_WORDS = 64
REQUEST_WORDS = 32
MIN_WASTE = 4_096  # words of removed tools; below this, compaction does not pay
_NO_WORD = ""  # the word of a tool without words


class Coverage(NamedTuple):
    """How well the words of a query and of each candidate match: 1 where every word has an equal."""

    of_query: NDArray[np.float64]  # the share of the query that the tool covers
    of_tool: NDArray[np.float64]  # the share of the tool that the query covers


class LateInteraction:
    """The word vectors of tools, by id."""

    def __init__(self, embedder: BuiltinEmbedder) -> None:
        self.embedder = embedder
        self._ids: dict[str, int] = {_NO_WORD: 0}  # the words of all tools
        self._directions, self._weights = GrowingRows(DIMENSIONS, np.float32), GrowingRows(1, np.float32)
        self._directions.extend(np.zeros((1, DIMENSIONS), dtype=np.float32))
        self._weights.extend(np.ones((1, 1), dtype=np.float32))
        self._blocks = RowBlocks(shared=1)  # of words, a block per tool
        self._words, self._shares = (
            GrowingRows(1, np.int32),
            GrowingRows(1, np.float32),
        )  # word ids, and their shares of the tool's weight
        self._words.extend(np.zeros((1, 1), dtype=np.int32))
        self._shares.extend(np.ones((1, 1), dtype=np.float32))

    @classmethod
    def restored(cls, embedder: BuiltinEmbedder, arrays: Arrays, tools: int) -> "LateInteraction":
        """The words of so many tools, from the arrays that `saved` gave."""
        directions = taken(arrays, "meanings.directions", "float32", None, DIMENSIONS)
        weights = taken(arrays, "meanings.weights", "float32", len(directions), 1)
        starts, ends = (taken(arrays, f"meanings.{name}", "int64", tools) for name in ("starts", "ends"))
        words = taken(arrays, "meanings.words", "int32", None, 1)
        shares = taken(arrays, "meanings.shares", "float32", len(words), 1)
        check_below(words, len(directions))
        check((starts >= 0).all() and (starts < ends).all() and (ends <= len(words)).all(), "words")
        spelled = unpacked(arrays, "meanings.spelled", len(directions))
        held = cls(embedder)
        held._ids = {word: place for place, word in enumerate(spelled)}
        held._directions.hold(directions)
        held._weights.hold(weights)
        held._blocks = RowBlocks.of_bounds(starts, ends, len(words), shared=1)
        held._words.hold(words)
        held._shares.hold(shares)
        return held

    def saved(self) -> dict[str, NDArray[Any]]:
        """What `restored` needs."""
        starts, ends = self._blocks.bounds
        return {
            "meanings.directions": self._directions.view,
            "meanings.weights": self._weights.view,
            "meanings.starts": starts,
            "meanings.ends": ends,
            "meanings.words": self._words.view,
            "meanings.shares": self._shares.view,
            "meanings.spelled": packed(self._ids),
        }

    def put(self, tools: Iterable[tuple[int, Iterable[str]]]) -> None:
        """Add the words of tools."""
        held = {tool_id: list(islice(_content_pieces(own), TOOL_WORDS)) or [_NO_WORD] for tool_id, own in tools}
        if held:
            self._learn(dict.fromkeys(word for own in held.values() for word in own if word not in self._ids))
            ids = np.array([self._ids[word] for own in held.values() for word in own], dtype=np.int32)
            lengths = np.array([len(own) for own in held.values()])
            weights = self._weights.view.take(ids)
            whole: Vectors = np.add.reduceat(weights, lengths.cumsum() - lengths)
            self._blocks.put(np.array(list(held)), lengths)
            self._words.extend(ids[:, None])
            self._shares.extend((weights / whole.repeat(lengths))[:, None])

    def remove(self, tool_id: int) -> None:
        """Remove the words of a tool."""
        if tool_id < len(self._blocks):
            self._blocks.remove(tool_id)
            if self._blocks.waste > max(MIN_WASTE, len(self._words) // 2):
                self._tidy()

    def request(self, text: str) -> list[Vectors]:
        """The vectors of the content words of a query, or of all its words if it has none."""
        # ASCII text has no runs of an unspaced script to cut up.
        content = content_words(text) if text.isascii() else tuple(islice(_content_pieces(words(text)), REQUEST_WORDS))
        return self.embedder.embed_words((content or tuple(dict.fromkeys(words(text))))[:REQUEST_WORDS])

    @property
    def held(self) -> tuple[Places, Places, NDArray[np.int32], Vectors, Vectors]:
        """The arrays of the kernel: bounds of each tool's words, their ids, vectors by id, the share of each word."""
        return *self._blocks.bounds, self._words.view, self._directions.view, self._shares.view

    def read(self, text: str, tool_ids: Sequence[int]) -> Coverage:
        """The coverage of a query by these tools."""
        # Without tools the embedder's table is not loaded.
        request = self.request(text) if len(tool_ids) else []
        return Coverage(*coverage(request, np.array(tool_ids, dtype=np.int64), *self.held))

    def nearest_words(self, request: Vectors, tool_ids: Sequence[int]) -> tuple[Vectors, Vectors]:
        """For each word of a request, how near the nearest word of the first of these tools is, and of all of them."""
        starts, ends = self._blocks.bounds
        # Tools whose words are still to come have the first row, the word of a tool without words.
        held = self._words.view[:, 0]
        ids = [held[starts[n] : ends[n]] if n < len(starts) and ends[n] > starts[n] else held[:1] for n in tool_ids]
        near = request @ self._directions.view.take(np.concatenate(ids), axis=0).T
        return near[:, : len(ids[0])].max(axis=1), near.max(axis=1)

    def _learn(self, fresh: Iterable[str]) -> None:
        new = list(fresh)
        if new:
            directions, weights = directions_and_weights(np.array(self.embedder.embed_words(new)), DIMENSIONS)
            self._ids.update((word, len(self._directions) + place) for place, word in enumerate(new))
            self._directions.extend(directions)
            self._weights.extend(weights[:, None])

    def _tidy(self) -> None:
        """Compact the arrays: drop words that no tool has any more."""
        kept = self._blocks.pack()
        used, ids = np.unique(self._words.view.take(kept), return_inverse=True)
        spelled = list(self._ids)
        self._ids = {spelled[word]: place for place, word in enumerate(used.tolist())}
        self._directions, self._weights = self._directions.only(used), self._weights.only(used)
        self._shares = self._shares.only(kept)
        self._words = GrowingRows(1, np.int32)
        self._words.extend(ids.astype(np.int32)[:, None])


def _content_pieces(words: Iterable[str]) -> Iterator[str]:
    """The content words, each once; a run of an unspaced script as character bigrams."""
    seen: set[str] = set()
    for word in words:
        pieces = [word[at : at + 2] for at in range(len(word) - 1)] if len(word) > 2 and is_unspaced(word) else (word,)
        for piece in pieces:
            if piece not in STOP_WORDS and piece not in seen:
                seen.add(piece)
                yield piece
