"""The dense arm: which tools mean what the request means. All are compared; every tool has several vectors."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from toolcrib.search import kernels
from toolcrib.search.kernels.rows import CoarseRows, Places, RowBlocks, Vectors, quantize
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
        self._held: _Held | None = None  # where all of it lies; None until these are looked for

    def __len__(self) -> int:
        return len(self._alive)

    @property
    def full(self) -> bool:
        """Whether every number has a tool."""
        return bool(self._alive.all())

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
        arrays = self._look_around()
        scores = np.empty((len(queries), len(self)), dtype=np.float32)
        for query, row in zip(queries, scores, strict=True):
            kernels.scores(query, *arrays, self._alive, self._read_at_most, WHOLE, ABSENT, row)
        return scores

    def similarities(self, queries: Vectors, allowed: NDArray[np.bool_] | None = None) -> list["Similarity"]:
        """The same for each query, with the nearest of the tools that are allowed."""
        scores = self.scores(queries)
        present = None if self.full else self._alive
        if allowed is not None:
            present = self._alive & allowed[: len(self)]
        return [Similarity.of(row, present) for row in scores]

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
            wholes, passages, (starts, ends) = self._wholes.view, self._passages.view, self._blocks.bounds
            self._held = wholes.numbers, wholes.steps, passages.numbers, passages.steps, starts, ends
        return self._held


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
        nearest, tools, total, squares = kernels.nearest(scores, DEPTH, ABSENT)
        mean, spread = mean_and_spread(total, squares, tools) if tools else (0.0, 1.0)
        return cls(scores=scores, nearest=nearest, mean=mean, spread=spread)


def mean_and_spread(total: float, squares: float, tools: int) -> tuple[float, float]:
    """How near tools are to a request in general, from the sum of their scores and of the squares of these."""
    # A few tools say little about that: what is usual counts as some more of them.
    count = tools + USUAL_TOOLS
    mean = (total + USUAL_TOOLS * USUAL_MEAN) / count
    squares += USUAL_TOOLS * (USUAL_MEAN**2 + USUAL_SPREAD**2)
    return mean, max(squares / count - mean * mean, MIN_SPREAD**2) ** 0.5
