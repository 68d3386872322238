"""Usage: which tools were called after which request. Stored on this machine only; later searches rank them higher.

The same request finds the tools that it led to first, however it is spaced or capitalized. For others a tool's vector
moves toward the requests that led to it (Tool2Vec), against a prior: one odd click moves it little, the same request
counts once however often it comes, and no amount of use moves it more than half the way.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from os import SEEK_END
from pathlib import Path
from threading import RLock

import numpy as np

from toolcrib.search.kernels.rows import Vectors
from toolcrib.search.text import words

logger = logging.getLogger(__name__)

PRIOR = 8.0  # a tool's own text weighs as much as that many requests
MAX_PULL = 0.5
MAX_REQUESTS = 200  # per tool, the newest; older ones are forgotten
MAX_CHARACTERS = 500
MAX_LED_TO = 3  # tools that a request finds because it led to them
MAX_TOGETHER = 8  # tools of one request that count as used together; a log that names more is no errand


class Usage:
    """Requests by the tool they led to; appended to a file of JSON lines when there is one. Indexes may share it."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = RLock()
        self._requests: dict[str, dict[str, None]] = {}  # a set that keeps its order, by tool
        self._together: dict[str, Counter[str]] = {}
        self._tools: dict[str, dict[str, None]] = {}  # the tools each request led to
        self._spoken: dict[tuple[str, ...], dict[str, None]] = {}  # the requests that are the same words
        for request, name in self._read():
            self._note(request, name)

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(tuple(self._requests))

    def learn(self, request: str, name: str) -> bool:
        """Remember that a request led to a tool; False when that was known."""
        request = _readable(request)
        with self._lock:
            if not self._note(request, name):
                return False
            if self._path:
                _append(self._path, _line(request, name))
            return True

    def forget(self, name: str | None = None) -> None:
        """Forget what led to one tool, or everything."""
        with self._lock:
            kept = [
                (request, tool)
                for tool, found in self._requests.items()
                for request in found
                if name is not None and tool != name
            ]
            self._requests, self._together, self._tools, self._spoken = {}, {}, {}, {}
            for request, tool in kept:
                self._note(request, tool)
            if self._path and self._path.exists():
                fresh = self._path.with_suffix(".new")
                fresh.write_bytes(b"".join(_line(request, tool) for request, tool in kept))
                fresh.replace(self._path)

    def requests(self, name: str) -> tuple[str, ...]:
        """The different requests that led to a tool, oldest first."""
        with self._lock:
            return tuple(self._requests.get(name, ()))

    def led_to(self, request: str) -> list[str]:
        """The tools that the same words led to, in the order in which they were used."""
        if not self._spoken:
            return []
        with self._lock:
            alike = self._spoken.get(tuple(words(request)), ())
            return list(dict.fromkeys(tool for one in alike for tool in self._tools.get(one, ())))[:MAX_LED_TO]

    def used_with(self, name: str) -> list[str]:
        """Tools used for the same requests, the most frequent first; once may be chance."""
        with self._lock:
            together = self._together.get(name)
            return [other for other, count in together.most_common(3) if count > 1] if together else []

    def _note(self, request: str, name: str) -> bool:
        if not request or request in self._requests.get(name, ()):
            return False
        known = self._requests.setdefault(name, {})
        known[request] = None
        tools = self._tools.setdefault(request, {})
        self._spoken.setdefault(tuple(words(request)), {})[request] = None
        if len(tools) < MAX_TOGETHER:
            self._count_together(name, tools, +1)
            tools[name] = None
        if len(known) > MAX_REQUESTS:
            self._drop(next(iter(known)), name)
        return True

    def _drop(self, request: str, name: str) -> None:
        del self._requests[name][request]
        tools = self._tools.get(request, {})
        if name in tools:
            del tools[name]
            self._count_together(name, tools, -1)
            if not tools:
                del self._tools[request]
                alike = self._spoken[tuple(words(request))]
                del alike[request]
                if not alike:
                    del self._spoken[tuple(words(request))]

    def _count_together(self, name: str, others: Iterable[str], times: int) -> None:
        for other in others:
            self._together.setdefault(other, Counter())[name] += times
            self._together.setdefault(name, Counter())[other] += times

    def _read(self) -> Iterator[tuple[str, str]]:
        if not self._path or not self._path.exists():
            return
        for number, line in enumerate(self._path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            try:
                row = json.loads(line)
                yield _readable(str(row["request"])), _readable(str(row["tool"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                # A line cut off by a crash costs one memory, not all of them.
                logger.warning("Line %d of %s is not a remembered use; it is passed over.", number, self._path)


def _line(request: str, name: str) -> bytes:
    return json.dumps({"request": request, "tool": name}, ensure_ascii=False).encode() + b"\n"


def _append(path: Path, line: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, SEEK_END)
            # The last line may have been cut off; it must not take this one with it.
            line = line if file.read(1) == b"\n" else b"\n" + line
        file.write(line)


def _readable(request: str) -> str:
    """One line of valid Unicode: half a surrogate pair cannot be written to a file."""
    return " ".join(request.encode("utf-8", "replace").decode("utf-8").split())[:MAX_CHARACTERS]


def moved_toward(own: Vectors, requests: Vectors) -> Vectors:
    """A tool's vector moved toward the mean of the requests that led to it; of length one again."""
    mean = requests.mean(axis=0)
    pull = min(MAX_PULL, len(requests) / (len(requests) + PRIOR))
    moved = (1 - pull) * own + pull * mean / (float(np.linalg.norm(mean)) or 1.0)
    return (moved / (float(np.linalg.norm(moved)) or 1.0)).astype(np.float32)
