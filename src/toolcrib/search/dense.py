"""The dense arm: which tools mean what the request means. All are compared; every tool has several vectors."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.kernels import compiled
from toolcrib.search.kernels.rows import CoarseRows, Places, Quantized, RowBlocks, Vectors, quantize
from toolcrib.tools.tool import Tool

# The texts of a tool that get a vector each: a request has to be near one of them, not near their average.

MAX_PASSAGES = 8  # bounds the memory a chatty catalog takes; what a tool does stands in its first sentences
MIN_LETTERS = 8  # shorter pieces ("e.g.", "Yes") are near everything
WHOLE_CHARACTERS = 600
# A tool counts half as a whole and half by its nearest passage: the nearest alone favours tools with many passages.
WHOLE = 0.5

_BREAKS = re.compile(r"(?<=[.!?;:])\s+|\s*[;•\n\r。！？；]+\s*|\s+[-–—]\s+")


def passages(tool: Tool) -> list[str]:
    """The tool as a whole first, then its name, each phrase, and each sentence of its description."""
    return text_passages(
        tool.name, tool.description, tool.phrases, parameter_texts(tool.parameters), category=tool.category
    )


def text_passages(
    name: str,
    description: str,
    phrases: tuple[str, ...] = (),
    parameters: tuple[str, ...] = (),
    *,
    category: str = "",
) -> list[str]:
    """The same for a tool that is only texts."""
    whole = f"{name} {description}"[:WHOLE_CHARACTERS].strip()
    pieces = [piece for piece in _BREAKS.split(description[: 2 * WHOLE_CHARACTERS]) if len(piece) >= MIN_LETTERS]
    # One sentence is already the whole text.
    sentences = pieces if len(pieces) > 1 else []
    # People name the service they mean, which many tools of a server leave to their category ("alfresco" "get_node").
    # It stays out of the whole: there a field of knowledge would count more than what the tool does.
    called = f"{category} {name}".strip()
    inputs = [f"{called} {' '.join(parameters)}"[:WHOLE_CHARACTERS]] if parameters else []
    return list(dict.fromkeys([whole, *phrases, called, *inputs, *sentences]))[: max(MAX_PASSAGES, len(phrases) + 2)]


def parameter_texts(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Each parameter's name and description, as one text."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    return tuple(
        f"{name} {_description(details)}".strip() for name, details in cast("Mapping[str, object]", properties).items()
    )


def _description(details: object) -> str:
    if not isinstance(details, Mapping):
        return ""
    text = cast("Mapping[str, object]", details).get("description")
    return text if isinstance(text, str) else ""


# Above this, the whole texts choose whose passages are read: a search may not walk through all the memory there is.
# The answer stays the same: of the best five, 998 in 1,000 (requests of the train splits and the MCP catalog).
EXACT_UP_TO = 300
SHORTLIST, LONGEST_SHORTLIST = 100, 200  # a twentieth of the tools, within these
MIN_WASTE = 256  # rows; less is not worth moving the others for
GROUP = 8  # scores of which only the highest is looked at, to find the highest of all
ABSENT = -2.0  # the score of a number without a tool: farther than any tool can be

_Held: TypeAlias = tuple[NDArray[np.int8], Vectors, NDArray[np.int8], Vectors, Places, Places]


class DenseIndex:
    """Vectors of a changing set of tools. A tool has a number, given by the caller; numbers may be used again.

    `_wholes` has one row a number. `_passages` has the other texts, one block a tool, in the order of coming; when half
    of all its rows are of tools that left, the rest moves together.
    """

    def __init__(self, dimensions: int, *, exact_up_to: int = EXACT_UP_TO, shortlist: int = SHORTLIST) -> None:
        self._exact_up_to = max(exact_up_to, shortlist)
        self._shortlist = shortlist
        self._wholes = CoarseRows(dimensions)
        self._passages = CoarseRows(dimensions)
        self._blocks = RowBlocks()  # of passages, a block a number
        self._alive: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._readable: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # numbers with passages
        self._gone: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # numbers without a tool
        self._held: _Held | None = None  # where all of it lies; None until these are looked for

    def __len__(self) -> int:
        return len(self._alive)

    @property
    def full(self) -> bool:
        """Whether every number has a tool."""
        self._look_around()
        return not len(self._gone)

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which numbers have a tool."""
        return self._alive

    def make_room(self, size: int) -> None:
        """Know all numbers below `size`, also those that get their vectors later."""
        missing = size - len(self)
        if missing > 0:
            self._held = None  # before arrays grow: who holds one would keep it beside the larger one
            self._wholes.make_room(size)
            self._blocks.make_room(size)
            self._alive = np.concatenate([self._alive, np.zeros(missing, dtype=np.bool_)])

    def put(self, numbers: Sequence[int], blocks: Sequence[Vectors]) -> None:
        """Hold tools under these free numbers, a block of vectors each, the first row being the tool as a whole."""
        if not len(numbers):
            return
        self._held = None
        self.make_room(max(numbers) + 1)
        places, lengths = np.array(numbers), np.array([len(block) for block in blocks])
        rows = quantize(np.concatenate(blocks))
        ends = lengths.cumsum()
        firsts = ends - lengths
        self._wholes.put(places, rows.at(firsts))
        self._passages.extend(rows.at(np.delete(np.arange(int(ends[-1])), firsts)))
        self._blocks.put(places, lengths - 1)
        self._alive[places] = True

    def remove(self, number: int) -> None:
        """Let a tool be found no more."""
        if number < len(self) and self._alive[number]:
            self._held = None
            self._alive[number] = False
            self._blocks.remove(number)
            if self._blocks.waste > max(MIN_WASTE, len(self._passages) // 2):
                self._passages = self._passages.only(self._blocks.pack())

    def vector(self, number: int) -> Vectors:
        """A tool as a whole."""
        return self._wholes.view.at(np.array([number])).fine()[0]

    def move(self, number: int, vector: Vectors) -> None:
        """Give a tool as a whole another place."""
        self._wholes.put(np.array([number]), quantize(vector[None]))

    def scores(self, queries: Vectors) -> NDArray[np.float32]:
        """How near each tool (column) is to each query (row)."""
        held = self._look_around()
        if compiled:
            scores = np.empty((len(queries), len(self)), dtype=np.float32)
            for query, row in zip(queries, scores, strict=True):
                compiled.scores(query, *held, self._alive, self._read_at_most, WHOLE, ABSENT, row)
            return scores
        asked = quantize(queries)
        scores = self._wholes.view.near(asked)
        if len(self._gone):
            scores[:, self._gone] = ABSENT  # before passages are read: tools that left take no place in the shortlist
        for place, row in enumerate(scores):
            self._read_passages(Quantized(asked.numbers[place : place + 1], asked.steps[place : place + 1]), row)
        return scores

    def nearest_passage(self, query: Vectors, number: int) -> int:
        """Which of a tool's texts is nearest: 0 for the whole, else the number of the passage."""
        asked = quantize(query[None])
        passages = self._passages.view.at(self._blocks.of(number))
        whole = self._wholes.view.at(np.array([number]))
        return int(np.concatenate([whole.near(asked)[0], passages.near(asked)[0]]).argmax())

    @property
    def _read_at_most(self) -> int:
        return len(self) if len(self) <= self._exact_up_to else shortlisted(len(self), self._shortlist)

    def _look_around(self) -> _Held:
        """Find out which numbers have passages, which no tool, and where all of it lies, unless that is known."""
        if self._held is None:
            self._gone, self._readable = np.flatnonzero(~self._alive), np.flatnonzero(self._blocks.lengths())
            wholes, passages, (starts, ends) = self._wholes.view, self._passages.view, self._blocks.bounds
            self._held = wholes.numbers, wholes.steps, passages.numbers, passages.steps, starts, ends
        return self._held

    def _read_passages(self, asked: Quantized, scores: NDArray[np.float32]) -> None:
        """Let the passages of all tools count, or of those that are nearest as a whole."""
        if self._read_at_most >= len(self):
            likely = self._readable
        else:
            likely = highest(scores, self._read_at_most)
            if len(self._readable) < len(self):
                likely = likely[self._blocks.lengths().take(likely) > 0]
        if len(likely):
            rows, starts = self._blocks.at(likely)
            near = self._passages.view.at(rows).near(asked)[0]
            # The nearest passage counts beside the whole, where it is nearer than that.
            wholes = scores.take(likely)
            nearest = np.maximum(wholes, np.maximum.reduceat(near, starts))
            scores[likely] = WHOLE * wholes + (1 - WHOLE) * nearest


def highest(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The places of the `count` highest scores, and of those as high as the last of them, in order of place.

    Of the highest of each group there are at least as many above their own `count`-th: only what reaches that can be
    among them. A third of the time of `partition` over all.
    """
    width = len(scores) // GROUP
    if width < 2 * count:
        return np.flatnonzero(scores >= np.partition(scores, -count)[-count])
    tops = scores[: width * GROUP].reshape(GROUP, width).max(axis=0)
    tops.partition(width - count)
    likely = np.flatnonzero(scores >= tops[width - count])
    among = scores.take(likely)
    return likely[among >= np.partition(among, -count)[-count]]


def shortlisted(tools: int, least: int = SHORTLIST) -> int:
    """Of how many tools the passages are read."""
    return max(least, min(tools // 20, LONGEST_SHORTLIST))


# How near every tool is to a request, read off the scores of a dense arm.

DEPTH = 50  # how many candidates each arm names
MIN_SPREAD = 0.02  # of a catalog of copies of one tool
USUAL_MEAN, USUAL_SPREAD, USUAL_TOOLS = 0.13, 0.095, 30  # cosines of requests and tools, over the training sets

Floats: TypeAlias = NDArray[np.float64]


class Similarity(NamedTuple):
    """How near every tool is to a request, and where the nearest stand among them."""

    scores: NDArray[np.float32]  # by tool number
    nearest: tuple[int, ...]  # the best DEPTH, best first
    mean: float
    spread: float

    @classmethod
    def of(cls, scores: NDArray[np.float32], alive: NDArray[np.bool_] | None = None) -> "Similarity":
        """Read off the scores of a dense arm; only the tools that are `alive` count, where not all are."""
        if alive is not None:
            scores = np.where(alive, scores, np.float32(ABSENT))
        nearest, tools, total, squares = (compiled.nearest if compiled else _nearest)(scores, DEPTH, ABSENT)
        mean, spread = mean_and_spread(total, squares, tools) if tools else (0.0, 1.0)
        return cls(scores=scores, nearest=nearest, mean=mean, spread=spread)

    @property
    def top(self) -> float:
        return float(self.scores[self.nearest[0]]) if self.nearest else 0.0

    @property
    def scores_of_nearest(self) -> tuple[float, ...]:
        nearest: list[float] = self.scores.take(self.nearest[:5]).tolist()
        return tuple(nearest)

    def z_scores(self, numbers: NDArray[np.int64]) -> Floats:
        """Standard deviations above the mean; a tool whose vectors are still to come is neither near nor far."""
        if not self.nearest:
            return np.zeros(len(numbers))
        scores = self.scores.take(numbers).astype(np.float64)
        z_scores = (scores - self.mean) / self.spread
        z_scores[scores <= ABSENT] = 0.0
        return z_scores


def _nearest(scores: NDArray[np.float32], depth: int, gone: float) -> tuple[tuple[int, ...], int, float, float]:
    """The best, best first; how many there are in all, the sum of their scores and of the squares of these."""
    present = scores[scores > gone].astype(np.float64)
    if not len(present):
        return (), 0, 0.0, 0.0
    best = highest(scores, min(depth, len(present)))
    ordered = best[(-scores.take(best)).argsort(kind="stable")]  # the smaller number first where scores are equal
    return tuple(ordered[:depth].tolist()), len(present), float(present.sum()), float(present @ present)


def mean_and_spread(total: float, squares: float, tools: int) -> tuple[float, float]:
    """How near tools are to a request in general, from the sum of their scores and of the squares of these."""
    # A few tools say little about that: what is usual counts as some more of them.
    count = tools + USUAL_TOOLS
    mean = (total + USUAL_TOOLS * USUAL_MEAN) / count
    squares += USUAL_TOOLS * (USUAL_MEAN**2 + USUAL_SPREAD**2)
    return mean, max(squares / count - mean * mean, MIN_SPREAD**2) ** 0.5
