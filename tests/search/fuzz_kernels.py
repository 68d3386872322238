"""Feeds the compiled kernels with arguments that are nearly right: `fuzz_kernels.c` calls it for each input.

An error of memory, or an exception that no kernel should raise, ends the process.
"""

import struct
from array import array
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import numpy as np

from toolcrib.search.embedders.builtin import MODEL, known_features

REFUSED = (ValueError, TypeError, BufferError, IndexError, OverflowError, SystemError, MemoryError)
KNOWN = known_features(MODEL)
WORDS = ("a", "weather", "wheather", "zdjęcia", "天気", "\ud800", "x" * 90, "")


class Arguments:
    """Values read off the bytes of one input."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._read = 0
        self.tools = self.number(0, 9)
        self.words = self.number(0, 5)
        self.size = self.pick(0, 8, 24, 64, 72)

    def bytes(self, count: int) -> bytes:
        """The next bytes; zeros when there are no more."""
        self._read += count
        return self._data[self._read - count : self._read].ljust(count, b"\0")

    def number(self, least: int, most: int) -> int:
        size = max(1, ((most - least).bit_length() + 7) // 8)
        return least + int.from_bytes(self.bytes(size), "little") % (most - least + 1)

    def pick(self, *values: Any) -> Any:
        return values[self.number(0, len(values) - 1)]

    def real(self) -> float:
        return float(self.pick(0.0, 0.5, 1.0, -2.0, float("nan"), float("inf"), *struct.unpack("d", self.bytes(8))))

    def text(self) -> str:
        return str(self.pick(*WORDS, "".join(map(chr, struct.unpack("6H", self.bytes(12))))))

    def rows(self, kind: str, count: int) -> Any:
        return np.frombuffer(self.bytes(count * np.dtype(kind).itemsize), dtype=kind).copy()

    def places(self, count: int, below: int) -> Any:
        return np.array([self.number(-1 if self.number(0, 30) == 0 else 0, below) for _ in range(count)], dtype="i8")

    def order(self) -> Any:
        return self.pick(None, np.arange(self.tools)[::-1].copy())

    def spoiled(self, arguments: list[Any]) -> list[Any]:
        """Sometimes one of them is too short, of another type, or missing."""
        if arguments and self.number(0, 3) == 3:
            at = self.number(0, len(arguments) - 1)
            one = arguments[at]
            short = one[:1].copy() if hasattr(one, "copy") else -1
            arguments[at] = self.pick(short, None, 7, 2**70, [], b"1234567", np.zeros(3, dtype="f8"))
        return arguments


def postings(of: Arguments) -> list[Any]:
    held = [
        sorted({of.number(0, of.tools) << 8 | of.number(0, 255) for _ in range(of.number(0, 6))})
        for _ in range(of.words)
    ]
    return [array("I", own) for own in held]


def compare(of: Arguments) -> list[Any]:
    firsts = of.places(of.tools, 8)
    spans = [firsts, firsts + 1, of.rows("i4", 12) % 5, of.rows("f4", 5 * 64), of.rows("f4", 12)]
    nearest = tuple(of.number(0, max(0, of.tools - 1)) for _ in range(of.words))
    named = tuple(of.number(0, 9) for _ in range(of.words))
    room = len(named) + len(nearest)
    vectors = [of.rows("f4", 64 + of.pick(0, 8)) for _ in range(of.words)]
    head = [named, tuple(of.real() for _ in named), (0.5,) * 10, of.rows("f4", of.tools), nearest, of.real(), of.real()]
    return [*head, -2.0, of.number(0, 9), vectors, *spans, np.zeros(room, "i8"), np.zeros(4 * room), np.zeros(21)]


def layers(of: Arguments, outputs: int) -> list[Any]:
    signs, hidden = 3, of.number(1, 4)
    sizes = (signs, signs, signs * outputs, signs * hidden, hidden, hidden * outputs, outputs)
    return [of.rows("f8", size) for size in sizes]


def score(of: Arguments) -> list[Any]:
    rows = of.number(0, 12)
    arrays = [
        of.rows("i1", of.tools * of.size),
        of.rows("f4", of.tools),
        of.rows("i1", rows * of.size),
        of.rows("f4", rows),
    ]
    starts = of.places(of.tools, rows)
    ends = np.minimum(starts + of.number(0, 3), rows)
    alive = of.rows("u1", of.tools) > 99
    return [of.rows("f4", of.size), *arrays, starts, ends, alive, of.number(0, 9), 0.5, -2.0, of.rows("f4", of.tools)]


def table(of: Arguments) -> list[Any]:
    words = [of.text() for _ in range(of.words)]
    features = np.sort(of.rows("u4", of.tools))
    starts = np.searchsorted(features, np.arange(65_537, dtype="u8") << 16).astype("u4")
    groups = of.pick(1, 2, 4)
    levels = of.rows("u1", of.tools * 3 * (of.size // 8))
    plains = [of.pick(None, word) for word in words]
    return [
        words,
        plains,
        features,
        starts,
        levels,
        of.rows("f2", of.tools * groups),
        of.rows("f4", of.words * of.size),
    ]


def ranked(of: Arguments) -> list[Any]:
    lists = [of.places(of.number(0, 6), max(0, of.tools - 1)) for _ in range(of.words)]
    return [lists, [of.rows("f8", len(own)) for own in lists], [of.real() for _ in lists], of.order(), of.number(-1, 9)]


def probable(of: Arguments) -> list[Any]:
    return [of.rows("f8", 3), *(of.rows("f8", of.tools) for _ in range(5)), *layers(of, 9)]


LOOPS: dict[str, Callable[[Arguments], list[Any]]] = {
    "add_features": table,
    "add_words": lambda of: [[of.rows("f4", of.size) for _ in range(of.words)], of.rows("f4", of.size)],
    "collect_candidates": compare,
    "deletion_matches": lambda of: [of.text(), np.sort(of.rows("u4", of.tools)), of.places(of.tools, 9)],
    "highest_by_words": lambda of: [
        *(postings(of), [of.real() for _ in range(of.words)], of.rows("f8", of.tools), of.order(), of.number(-1, 12))
    ],
    "known_positions": lambda of: [[of.number(-1, 2**32) for _ in range(of.words)], *KNOWN],
    "known_share": lambda of: [of.text(), of.pick(None, of.text()), *KNOWN],
    "matched_words": lambda of: [[of.number(-1, 9) for _ in range(of.words)], [postings(of) for _ in range(of.words)]],
    "nearest": lambda of: [of.rows("f4", of.tools), of.number(-1, 12), of.real(), of.order()],
    "network": lambda of: [of.rows("f8", 3), of.rows("f8", 2), *layers(of, 2)],
    "probabilities": probable,
    "ranked": ranked,
    "scores": score,
}


def tried(path: str) -> Callable[[bytes], None]:
    """What tries one input, on the kernels of that build."""
    spec = spec_from_file_location("_loops", path, loader=ExtensionFileLoader("_loops", path))
    assert spec is not None
    assert spec.loader is not None
    kernels: Any = module_from_spec(spec)
    spec.loader.exec_module(kernels)
    names = list(LOOPS)

    def try_one(data: bytes) -> None:
        of = Arguments(data)
        name = of.pick(*names)
        with suppress(*REFUSED):
            getattr(kernels, name)(*of.spoiled(LOOPS[name](of)))

    return try_one
