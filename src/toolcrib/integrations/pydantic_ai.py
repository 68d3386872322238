"""Our search behind Pydantic AI's own tool search, for agents that use it: `ToolSearch(strategy=ToolcribSearch())`."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition

from toolcrib.integrations.definitions import Definition, DefinitionIndex


class ToolcribSearch:
    """A strategy for `pydantic_ai.capabilities.ToolSearch`. Where nothing fits, it finds nothing."""

    def __init__(self, *, limit: int = 5) -> None:
        """Find at most `limit` tools for each query."""
        self._limit = limit
        self._index = DefinitionIndex(_read)

    def __call__(self, ctx: RunContext[Any], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
        """The names of the tools that serve these queries, best first."""
        found = [self._index.search(query, tools, limit=self._limit).tools for query in queries]
        return list(dict.fromkeys(one.name for tools in found for one in tools))


def _read(tool: ToolDefinition) -> Definition:
    return Definition(tool.name, tool.description or "", tool.parameters_json_schema)
