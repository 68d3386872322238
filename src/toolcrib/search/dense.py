"""The dense arm: vector similarity. Exhaustive, without an approximate index; every tool has several vectors."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from toolcrib.search import kernels
from toolcrib.search.kernels.rows import Places, Quantized, QuantizedRows, RowBlocks, Vectors, quantize
from toolcrib.search.saved import Arrays, check, taken
from toolcrib.tools.tool import Tool

# Passages: the texts of a tool, embedded one by one. A query has to be near one of them, not near their average.

MAX_PASSAGES = 8  # bounds memory; what a tool does is in its first sentences
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
    """The same for the texts of a tool."""
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


# Above this, only the passages of a shortlist are scored, chosen by the vectors of whole tools: scoring every passage
# is bound by memory. Of the best five, 998 in 1,000 stay the same (requests of the train splits and the MCP catalog).
EXACT_UP_TO = 300
SHORTLIST, LONGEST_SHORTLIST = 100, 200  # a twentieth of the tools, within these
MIN_WASTE = 256  # rows; below this, compaction does not pay
ABSENT = -2.0  # the score of an id without a tool, below every cosine

_Held: TypeAlias = tuple[NDArray[np.int8], Vectors, NDArray[np.int8], Vectors, Places, Places]


class DenseIndex:
    """The vectors of tools, by ids that the caller gives and may reuse.

    `_wholes` has one row per id. `_passages` has a block of rows per tool, in the order of insertion; it is compacted
    when half of its rows belong to removed tools.
    """

    def __init__(self, dimensions: int, *, exact_up_to: int = EXACT_UP_TO, shortlist: int = SHORTLIST) -> None:
        self._exact_up_to = max(exact_up_to, shortlist)
        self._shortlist = shortlist
        self._wholes = QuantizedRows(dimensions)
        self._passages = QuantizedRows(dimensions)
        self._blocks = RowBlocks()  # of passages, a block per id
        self._alive: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._held: _Held | None = None  # cached arguments of the kernel; None after a change

    @classmethod
    def restored(cls, arrays: Arrays, alive: NDArray[np.bool_]) -> "DenseIndex":
        """The dense arm that gave these arrays, with a tool for each id that is alive."""
        tools = len(alive)
        wholes, passages = (taken(arrays, f"dense.{name}", "int8", None, None) for name in ("wholes", "passages"))
        steps = taken(arrays, "dense.whole_steps", "float32", tools)
        passage_steps = taken(arrays, "dense.passage_steps", "float32", len(passages))
        starts, ends = (taken(arrays, f"dense.{name}", "int64", tools) for name in ("starts", "ends"))
        check(len(wholes) == tools and wholes.shape[1] == passages.shape[1] > 0, "vectors")
        check((starts >= 0).all() and (starts <= ends).all() and (ends <= len(passages)).all(), "passages")
        dense = cls(wholes.shape[1])
        dense._wholes.hold(Quantized(wholes, steps))
        dense._passages.hold(Quantized(passages, passage_steps))
        dense._blocks = RowBlocks.of_bounds(starts, ends, len(passages))
        dense._alive = alive
        return dense

    def saved(self) -> dict[str, NDArray[Any]]:
        """What `restored` needs."""
        starts, ends = self._blocks.bounds
        return {
            "dense.wholes": self._wholes.view.numbers,
            "dense.whole_steps": self._wholes.view.steps,
            "dense.passages": self._passages.view.numbers,
            "dense.passage_steps": self._passages.view.steps,
            "dense.starts": starts,
            "dense.ends": ends,
        }

    def saved_with(self, tool_ids: Sequence[int], vectors: Vectors) -> dict[str, NDArray[Any]]:
        """The part of it that is different when these tools have other vectors as a whole."""
        rows, (numbers, steps) = quantize(vectors), (part.copy() for part in self._wholes.view)
        numbers[tool_ids], steps[tool_ids] = rows.numbers, rows.steps
        return {"dense.wholes": numbers, "dense.whole_steps": steps}

    def __len__(self) -> int:
        return len(self._alive)

    @property
    def full(self) -> bool:
        """Whether every id has a tool."""
        return bool(self._alive.all())

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which ids have a tool."""
        return self._alive

    def make_room(self, size: int) -> None:
        """Reserve rows for all ids below `size`; their vectors may come later."""
        missing = size - len(self)
        if missing > 0:
            self._held = None  # before arrays grow: a reference would keep the old one in memory
            self._wholes.make_room(size)
            self._blocks.make_room(size)
            self._alive = np.concatenate([self._alive, np.zeros(missing, dtype=np.bool_)])

    def put(self, tool_ids: Sequence[int], blocks: Sequence[Vectors]) -> None:
        """Add tools under unused ids, a block of vectors each; the first row is the vector of the whole tool."""
        if not len(tool_ids):
            return
        self._held = None
        self.make_room(max(tool_ids) + 1)
        places, lengths = np.array(tool_ids), np.array([len(block) for block in blocks])
        rows = quantize(np.concatenate(blocks))
        ends = lengths.cumsum()
        firsts = ends - lengths
        self._wholes.put(places, rows.at(firsts))
        self._passages.extend(rows.at(np.delete(np.arange(int(ends[-1])), firsts)))
        self._blocks.put(places, lengths - 1)
        self._alive[places] = True

    def remove(self, tool_id: int) -> None:
        """Remove a tool."""
        if tool_id < len(self) and self._alive[tool_id]:
            self._held = None
            self._alive[tool_id] = False
            self._blocks.remove(tool_id)
            if self._blocks.waste > max(MIN_WASTE, len(self._passages) // 2):
                self._passages = self._passages.only(self._blocks.pack())

    def vector(self, tool_id: int) -> Vectors:
        """The vector of a whole tool."""
        return self._wholes.view.at(np.array([tool_id])).fine()[0]

    def replace_vector(self, tool_id: int, vector: Vectors) -> None:
        """Replace the vector of a whole tool."""
        self._wholes.put(np.array([tool_id]), quantize(vector[None]))

    def scores(self, queries: Vectors) -> NDArray[np.float32]:
        """The score of each tool (column) for each query (row)."""
        arrays = self._look_around()
        scores = np.empty((len(queries), len(self)), dtype=np.float32)
        for query, row in zip(queries, scores, strict=True):
            kernels.scores(query, *arrays, self._alive, self._read_at_most, WHOLE, ABSENT, row)
        return scores

    def similarities(
        self, queries: Vectors, allowed: NDArray[np.bool_] | None = None, order: Places | None = None
    ) -> list["Similarity"]:
        """The similarity of the allowed tools to each query; `order` decides between equals."""
        scores = self.scores(queries)
        present = None if self.full else self._alive
        if allowed is not None:
            present = self._alive & allowed[: len(self)]
        return [Similarity.of(row, present, order) for row in scores]

    def nearest_passage(self, query: Vectors, tool_id: int) -> int:
        """The index of the nearest text of a tool in `passages`; 0 is the whole."""
        quantized = quantize(query[None])
        passages = self._passages.view.at(self._blocks.of(tool_id))
        whole = self._wholes.view.at(np.array([tool_id]))
        return int(np.concatenate([whole.near(quantized)[0], passages.near(quantized)[0]]).argmax())

    @property
    def _read_at_most(self) -> int:
        return len(self) if len(self) <= self._exact_up_to else shortlisted(len(self), self._shortlist)

    def _look_around(self) -> _Held:
        """The arrays that the kernel reads, cached until the next change."""
        if self._held is None:
            wholes, passages, (starts, ends) = self._wholes.view, self._passages.view, self._blocks.bounds
            self._held = wholes.numbers, wholes.steps, passages.numbers, passages.steps, starts, ends
        return self._held


def shortlisted(tools: int, least: int = SHORTLIST) -> int:
    """The number of tools whose passages are scored."""
    return max(least, min(tools // 20, LONGEST_SHORTLIST))


# The similarity of all tools to a query.

DEPTH = 50  # candidates per arm
MIN_SPREAD = 0.02  # a catalog of copies of one tool has none
USUAL_MEAN, USUAL_SPREAD, USUAL_TOOLS = 0.13, 0.095, 30  # prior: cosines of queries and tools in the training sets

Floats: TypeAlias = NDArray[np.float64]


class Similarity(NamedTuple):
    """The scores of all tools for a query, the nearest tools, and the distribution of the scores."""

    scores: NDArray[np.float32]  # by tool id
    nearest: tuple[int, ...]  # the best DEPTH, best first
    mean: float
    spread: float

    @classmethod
    def of(
        cls, scores: NDArray[np.float32], alive: NDArray[np.bool_] | None = None, order: Places | None = None
    ) -> "Similarity":
        """From the scores of a dense arm; only the tools that are `alive` count, if that is given."""
        if alive is not None:
            scores = np.where(alive, scores, np.float32(ABSENT))
        nearest, tools, total, squares = kernels.nearest(scores, DEPTH, ABSENT, order)
        mean, spread = mean_and_spread(total, squares, tools) if tools else (0.0, 1.0)
        return cls(scores=scores, nearest=nearest, mean=mean, spread=spread)


def mean_and_spread(total: float, squares: float, tools: int) -> tuple[float, float]:
    """Mean and standard deviation, from the sum of the scores and the sum of their squares, with a prior."""
    # Few tools give a poor estimate: the prior counts as `USUAL_TOOLS` more.
    count = tools + USUAL_TOOLS
    mean = (total + USUAL_TOOLS * USUAL_MEAN) / count
    squares += USUAL_TOOLS * (USUAL_MEAN**2 + USUAL_SPREAD**2)
    return mean, max(squares / count - mean * mean, MIN_SPREAD**2) ** 0.5
