"""HOW tools are found. Reads a tool's text; knows no catalog, no session and no model provider."""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.search.embedders.embedder import Embedder as Embedder
    from toolcrib.search.index import (
        ToolIndex as ToolIndex,
        open_index as open_index,
    )
    from toolcrib.search.interface import SearchIndex as SearchIndex
    from toolcrib.search.kernels.rows import Vectors as Vectors
    from toolcrib.search.query import SearchOptions as SearchOptions, Strategy as Strategy
    from toolcrib.search.result import Explanation as Explanation, Hit as Hit, SearchResult as SearchResult
    from toolcrib.search.usage import Usage as Usage

_HOMES = {
    "Embedder": "toolcrib.search.embedders.embedder",
    "Explanation": "toolcrib.search.result",
    "Hit": "toolcrib.search.result",
    "SearchIndex": "toolcrib.search.interface",
    "SearchOptions": "toolcrib.search.query",
    "SearchResult": "toolcrib.search.result",
    "Strategy": "toolcrib.search.query",
    "ToolIndex": "toolcrib.search.index",
    "Usage": "toolcrib.search.usage",
    "Vectors": "toolcrib.search.kernels.rows",
    "open_index": "toolcrib.search.index",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
