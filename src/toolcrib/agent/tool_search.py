"""Our search behind Pydantic AI's own tool search, for agents that use it: `ToolSearch(strategy=ToolcribSearch())`."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition

from toolcrib.catalog.catalog import Catalog
from toolcrib.search.index import ToolIndex
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool


class ToolcribSearch:
    """A strategy for `pydantic_ai.capabilities.ToolSearch`. Where nothing fits, it finds nothing.

    The index is made at the first search, and again only when the tools change.
    """

    def __init__(self, *, limit: int = 5) -> None:
        """Find at most `limit` tools for each query."""
        self._limit = limit
        self._made: tuple[list[tuple[str, str | None]], ToolIndex] | None = None

    def __call__(self, ctx: RunContext[Any], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
        """The names of the tools that serve these queries, best first."""
        index = self._index(tools)
        found = [index.search(query, limit=self._limit).hits for query in queries]
        return list(dict.fromkeys(hit.name for hits in found for hit in hits))

    def _index(self, tools: Sequence[ToolDefinition]) -> ToolIndex:
        words = [(one.name, one.description) for one in tools]
        if self._made is None or self._made[0] != words:
            catalog = Catalog(
                Tool(
                    name=one.name,
                    description=one.description or "",
                    parameters=one.parameters_json_schema,
                    call=_only_searched,
                    source="pydantic-ai",
                )
                for one in tools
            )
            self._made = (words, ToolIndex(catalog))
        return self._made[1]


async def _only_searched(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult.failure("This tool is called by Pydantic AI.")
