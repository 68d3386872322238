"""Tools that another framework holds and calls, as our search sees them."""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.handover import MOST_TOOLS, best_hits, confidence_word
from toolcrib.errors import ToolDefinitionError
from toolcrib.search.index import ToolIndex
from toolcrib.tools.result import ToolResult
from toolcrib.tools.schema import mapping
from toolcrib.tools.tool import SAFE_NAME, Tool

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64  # what `SAFE_NAME` allows
MOST_INDEXES = 8  # kept: a server shows different tools to different callers

Theirs = TypeVar("Theirs")


class Definition(NamedTuple):
    """What a tool says of itself."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON Schema of an object


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Generic[Theirs]):
    """The tools that serve a request, best first; none when nothing fits."""

    tools: tuple[Theirs, ...]
    confidence: str  # sure, likely or unsure; none when nothing fits


class DefinitionIndex(Generic[Theirs]):
    """Searches in whatever tools it is given. Each set of them is indexed when it is first searched."""

    def __init__(self, read: Callable[[Theirs], Definition]) -> None:
        """Search in tools that `read` understands."""
        self._read = read
        self._made: OrderedDict[_Words, tuple[ToolIndex, Mapping[str, int]]] = OrderedDict()
        self._lock = Lock()  # searches may come from any thread

    def search(self, query: str, tools: Sequence[Theirs], *, limit: int) -> Found[Theirs]:
        """Those of the tools that are worth their tokens: few when the search is sure, at most `limit`."""
        index, places = self._index([self._read(one) for one in tools])
        result = index.search(query, limit=MOST_TOOLS)
        hits = best_hits(result, limit)
        confidence = confidence_word(result.confidence) if hits else "none"
        return Found(tools=tuple(tools[places[hit.name]] for hit in hits), confidence=confidence)

    def _index(self, definitions: Sequence[Definition]) -> tuple[ToolIndex, Mapping[str, int]]:
        words = tuple(
            (one.name, one.description, tuple(mapping(one.parameters.get("properties")))) for one in definitions
        )
        with self._lock:
            made = self._made.pop(words, None)
            if made is None:
                named = list(zip(safe_names([one.name for one in definitions]), definitions, strict=True))
                catalog = Catalog(searched_tool(definition, name) for name, definition in named)
                made = ToolIndex(catalog), {name: place for place, (name, _) in enumerate(named)}
            self._made[words] = made  # the last one is the most recently used
            if len(self._made) > MOST_INDEXES:
                self._made.popitem(last=False)
            return made


_Words: TypeAlias = tuple[tuple[str, str, tuple[str, ...]], ...]


def searched_tool(definition: Definition, name: str) -> Tool:
    """A tool that is found here and called elsewhere. A schema that we could not send to a model is left out."""
    try:
        return Tool(
            name=name, description=definition.description, parameters=definition.parameters, call=_called_elsewhere
        )
    except ToolDefinitionError:
        return Tool(name=name, description=definition.description, call=_called_elsewhere)


def safe_names(names: Sequence[str]) -> list[str]:
    """A name for each that a catalog can hold, no two alike; those that can be kept are."""
    kept = {name for name in names if SAFE_NAME.fullmatch(name)}
    taken: dict[str, None] = {}  # a set that keeps its order
    for name in names:
        safe = name if name in kept else _UNSAFE.sub("_", f"_{name}")[:_LONGEST_NAME]
        free, number = safe, 1
        while free in taken or (free in kept and free != name):
            number += 1
            end = f"_{number}"
            free = f"{safe[: _LONGEST_NAME - len(end)]}{end}"
        taken[free] = None
    return list(taken)


async def _called_elsewhere(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult.failure("This tool is called by the framework that holds it.")
