"""The second pass: a small transformer reads an unsure request against the first tools of the ranking.

The request goes through three layers, once. The pieces of a tool go through none, only through one small network, so
that a tool is read in a fraction of a millisecond, once, and kept. Then every piece of the request looks for the
nearest piece of a tool and the other way round (late interaction). English texts are read in pieces of words, those in
other languages by the vectors that the built-in embedder's table has for their words.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolcrib.search.embedders.builtin import BuiltinEmbedder
from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.text import STOP_WORDS, is_unspaced, plain, words
from toolcrib.tools.tool import Tool

LAYERS, HEADS = 3, 12
REQUEST_PIECES, NAME_PIECES, TEXT_PIECES, PARAMETER_PIECES = 96, 20, 60, 16
MAX_PIECES = 4  # of a word; one that falls into more is not English, and known by its vector alone
START, END, WHOLE_WORD = 0, 1, 2  # the rows of the embeddings before those of the pieces


class Piece(NamedTuple):
    """A piece of a text: the row of its embedding, and the word."""

    row: int  # `WHOLE_WORD`: it is known by its vector in the table
    word: str


class Reading(NamedTuple):
    """A text as it was read."""

    vectors: Vectors  # of each piece
    weights: Vectors  # how much each counts; they add up to one
    whole: Vectors


class Pieces:
    """Cuts texts into pieces of words; a text in another language than English into words."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._rows = {piece: row for row, piece in enumerate(vocabulary, WHOLE_WORD + 1)}

    def of(self, text: str, most: int) -> list[Piece]:
        """The first pieces of a text."""
        spoken = list(islice(_spoken_words(text), most))
        cut = [self._cut(word) for word in spoken]
        if not _is_english(spoken, cut):
            return [Piece(WHOLE_WORD, word) for word in spoken]
        pieces = (Piece(row, word) for word, rows in zip(spoken, cut, strict=True) for row in rows or [WHOLE_WORD])
        return list(islice(pieces, most))

    def of_tool(self, tool: Tool) -> list[Piece]:
        """Those of a tool: of its name and category, its description and its parameters."""
        category = "" if tool.category == "general" else tool.category
        parameters = " ".join(islice(tool.parameters.get("properties", {}), 12))
        return [
            *self.of(f"{tool.name} {category}", NAME_PIECES),
            *self.of(tool.description[:700], TEXT_PIECES),
            *self.of(parameters, PARAMETER_PIECES),
        ]

    def _cut(self, word: str) -> list[int]:
        """The rows of a word's pieces, the longest first; none where it has none or too many."""
        letters, rows, start = plain(word), list[int](), 0
        while start < len(letters):
            prefix = "##" if start else ""
            ends = range(len(letters), start, -1)
            end = next((end for end in ends if prefix + letters[start:end] in self._rows), None)
            if end is None or len(rows) == MAX_PIECES:
                return []
            rows.append(self._rows[prefix + letters[start:end]])
            start = end
        return rows


def _is_english(spoken: Sequence[str], cut: Sequence[Sequence[int]]) -> bool:
    """Whether words are English: those of other languages fall into more pieces, and have no English ones between."""
    counted = [len(rows) or MAX_PIECES + 1 for word, rows in zip(spoken, cut, strict=True) if not word.isdigit()]
    foreign = sum(not word.isascii() for word in spoken)
    between = sum(word in STOP_WORDS for word in spoken)
    return foreign < 0.2 * len(spoken) and sum(counted) < 1.3 * len(counted) + 2 * between


def _spoken_words(text: str) -> Iterable[str]:
    """The words of a text; a run of a script without spaces as its pairs of characters."""
    for word in words(text):
        if len(word) > 2 and is_unspaced(word):
            yield from (word[at : at + 2] for at in range(len(word) - 1))
        else:
            yield word


def read_weights(file: Path) -> dict[str, Vectors]:
    """The weights of a reader, as they are computed with."""
    held, weights = np.load(file), dict[str, Vectors]()
    for key in held.files:
        name, _, kind = key.partition("|")
        if kind == "whole":
            weights[name] = held[key].astype(np.float32)
        elif kind == "levels":
            both, scales = held[key], held[f"{name}|scales"].astype(np.float32)
            levels = np.stack([both & 15, both >> 4], axis=-1).reshape(len(both), scales.shape[1], -1)
            weights[name] = ((levels.astype(np.float32) - 8) * scales[..., None]).reshape(len(both), -1)
    return weights


class Reader:
    """Reads requests and tools with the trained weights, and scores a tool for a request."""

    def __init__(self, weights: dict[str, Vectors], vocabulary: Sequence[str], table: BuiltinEmbedder) -> None:
        self._p, self.pieces, self._table = weights, Pieces(vocabulary), table

    def request(self, text: str) -> Reading:
        """Read a request."""
        own = [Piece(START, ""), *self.pieces.of(text, REQUEST_PIECES), Piece(END, "")]
        x = self._embed(own)
        for n in range(LAYERS):
            one, attention = f"layers.{n}.", f"layers.{n}.self_attn."
            q, k, v = self._line(x, f"{attention}in_proj", "_").reshape(len(own), 3, HEADS, -1).transpose(1, 2, 0, 3)
            near = q @ k.transpose(0, 2, 1) / np.float32(sqrt(q.shape[-1]))
            near = np.exp(near - near.max(-1, keepdims=True))
            seen = (near / near.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(x.shape)
            x = self._level(x + self._line(seen, f"{attention}out_proj"), f"{one}norm1")
            x = self._level(x + self._line(_gelu(self._line(x, f"{one}linear1")), f"{one}linear2"), f"{one}norm2")
        return self._reading(x, "q", x)

    def tool(self, tool: Tool) -> Reading:
        """Read a tool."""
        x = self._embed([Piece(START, ""), *self.pieces.of_tool(tool), Piece(END, "")])
        x = x + self._line(_gelu(self._line(x, "a")), "b")
        return self._reading(x, "d", self._line(x, "pp"))

    def score(self, request: Reading, tool: Reading) -> float:
        """How well a tool serves a request; only differences mean something."""
        near = request.vectors @ tool.vectors.T
        ways = near.max(1) @ request.weights, near.max(0) @ tool.weights, request.whole @ tool.whole
        return float(self._p["scale"] @ np.array(ways))

    def nothing(self, request: Reading) -> float:
        """The score of no tool at all."""
        return float(self._p["null.weight"][0] @ request.whole + self._p["null.bias"][0])

    def _embed(self, pieces: Sequence[Piece]) -> Vectors:
        x = self._p["w.weight"][[piece.row for piece in pieces]]
        if whole := [at for at, piece in enumerate(pieces) if piece.row == WHOLE_WORD]:
            meant = np.array(self._table.embed_words([pieces[at].word for at in whole]))
            x[whole] = self._line(_gelu(self._line(meant, "m")), "n2") + self._line(meant, "meant")
        return self._level(x + self._p["pos.weight"][: len(x)], "n")

    def _reading(self, x: Vectors, side: str, whole: Vectors) -> Reading:
        vectors = self._line(x, f"p{side}")
        weights = np.log1p(np.exp(self._line(x, f"w{side}")[:, 0]))
        mean = whole.mean(0)
        return Reading(
            vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
            weights / weights.sum(),
            mean / np.linalg.norm(mean),
        )

    def _line(self, x: Vectors, name: str, dot: str = ".") -> Vectors:
        return x @ self._p[f"{name}{dot}weight"].T + self._p.get(f"{name}{dot}bias", np.float32(0))

    def _level(self, x: Vectors, name: str) -> Vectors:
        x = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x / spread * self._p[f"{name}.weight"] + self._p[f"{name}.bias"]


def _gelu(x: Vectors) -> Vectors:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
