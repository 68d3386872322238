"""A small catalog, and tools that remember how they were called."""

from collections.abc import Iterable, Mapping
from typing import Any

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.tokens import count_tokens
from toolcrib.search.index import ToolIndex
from toolcrib.search.query import SearchOptions
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool, ToolCall


class Recorder:
    """A call that writes down what it was given, and says so."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.contexts: list[object] = []

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        self.calls.append(dict(arguments))
        self.contexts.append(context)
        return ToolResult.of("done")


def make(name: str, description: str = "", *, call: ToolCall | None = None, **more: Any) -> Tool:
    """A tool with a raw schema, as sources of other languages give them."""
    return Tool(name=name, description=description or f"Do {name}.", call=call or Recorder(), **more)


def takes(**properties: Any) -> dict[str, Any]:
    """A schema in which every property is required."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def pages(*more: Tool) -> Catalog:
    """Four tools about pages, one of them dangerous, and what else is given."""
    slug = takes(slug={"type": "string"})
    return Catalog(
        [
            make("list_pages", "List all pages of the site.", category="pages"),
            make("get_page", "Show one page with its sections.", category="pages", parameters=slug),
            make("publish_page", "Make a page public.", category="pages", risk="moderate", parameters=slug),
            make("delete_page", "Delete a page for good.", category="pages", risk="destructive", parameters=slug),
            *more,
        ]
    )


def calls_of(catalog: Catalog, name: str) -> list[dict[str, Any]]:
    """How a tool made here was called."""
    call = catalog.get(name).call
    assert isinstance(call, Recorder)
    return call.calls


def words_only(catalog: Catalog) -> ToolIndex:
    """An index that is quick to make and needs no model."""
    return ToolIndex(catalog, options=SearchOptions(arms="lexical", abstain=False))


def told(result: ToolResult) -> tuple[str, int]:
    """What the model reads, and how many tokens that is."""
    return result.text, count_tokens(result.text)


def names(tools: Iterable[Tool]) -> list[str]:
    return [tool.name for tool in tools]
