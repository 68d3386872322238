"""OURS, as arms beside the peers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.peers import Arm, K
from toolcrib.catalog.catalog import Catalog
from toolcrib.search.query import SearchOptions
from toolcrib.tools.tool import Tool


class Toolcrib:
    """A `ToolIndex` as a user makes it."""

    def __init__(self, **options: Any) -> None:
        from toolcrib.search.index import ToolIndex

        self._make, self._options = ToolIndex, options

    def build(self, tools: Sequence[Tool]) -> None:
        self.catalog = Catalog(tools)
        self.index = self._make(self.catalog, **self._options)

    def search(self, query: str, k: int = K) -> list[str]:
        return list(self.index.search(query, limit=k).names)


def without_abstention() -> Toolcrib:
    """The same index, made to answer always."""
    return Toolcrib(options=SearchOptions(abstain=False))


def with_minilm() -> Toolcrib:
    """The same index and fusion over MiniLM's vectors, to compare embedders."""
    from benchmarks.minilm import MiniLM

    return Toolcrib(embedder=MiniLM(), options=SearchOptions(abstain=False))


# Asked for by name only: reading every passage of every set with a transformer takes a quarter of an hour.
ON_REQUEST: Mapping[str, Callable[[], Arm]] = {"toolcrib + MiniLM": with_minilm}

ARMS: Mapping[str, Callable[[], Arm]] = {
    "toolcrib": Toolcrib,
    "toolcrib lexical": lambda: Toolcrib(options=SearchOptions(arms="lexical", abstain=False)),
    "toolcrib dense": lambda: Toolcrib(options=SearchOptions(arms="dense", abstain=False, decompose=False)),
    "toolcrib undivided": lambda: Toolcrib(options=SearchOptions(abstain=False, decompose=False)),
}
