"""The tools in sight, ranked for a request by the index that ranks a catalog: for the modes without a search tool."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from toolcrib.agent.offline.known_tools import KnownTool
from toolcrib.search.result import SearchResult
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from toolcrib.search.corpus import CatalogChange
    from toolcrib.search.index import ToolIndex

_KEPT = 8  # indexes; a conversation looks at the same few sets of tools again and again


def ranked(query: str, tools: Iterable[KnownTool], *, limit: int = 8) -> SearchResult:
    """The tools that serve a request, best first."""
    return _index(tuple((tool.name, tool.description, _words(tool)) for tool in tools)).search(query, limit=limit)


def _words(tool: KnownTool) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in tool.parameters)


@lru_cache(maxsize=_KEPT)
def _index(said: tuple[tuple[str, str, tuple[str, ...]], ...]) -> "ToolIndex":
    from toolcrib.search.index import ToolIndex  # late: numpy, which small talk does not need

    tools = [
        Tool(
            name=name,
            description=description,
            parameters={"type": "object", "properties": {parameter: {} for parameter in parameters}},
            call=_never,
        )
        for name, description, parameters in said
    ]
    return ToolIndex(_Fixed(added=tools))


@dataclass(frozen=True)
class _Fixed:
    """Some tools as a catalog that never changes: it announces them once, and is that announcement itself."""

    added: Sequence[Tool]
    removed: Sequence[str] = ()

    def subscribe(self, listener: "Callable[[CatalogChange], object]", *, replay: bool = False) -> Callable[[], None]:
        """Tell of the tools at once."""
        listener(self)
        return lambda: None


async def _never(arguments: object, context: object = None, /) -> ToolResult:
    """The tools here are for finding; the real ones are called by the agent."""
    raise NotImplementedError(arguments, context)
