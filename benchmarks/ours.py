"""OURS, as arms beside the peers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.peers import Arm, K
from toolcrib.catalog import Catalog
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
    # A plain index here would report that abstention loses nothing, so this waits for the index's own option.
    raise NotImplementedError("Name the option of `ToolIndex` that turns abstention off.")


ARMS: Mapping[str, Callable[[], Arm]] = {"toolcrib": Toolcrib}
