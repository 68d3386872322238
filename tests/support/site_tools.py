"""A small site's tools, and an index that answers as it is told: what the tests of surfaces share."""

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, cast

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.tokens import count_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.index import ToolIndex
from toolcrib.search.result import Hit, Path, SearchResult
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Protocol, Tool


async def _call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult.of({"got": dict(arguments), "context": context})


def make(name: str, description: str = "", category: str = "", *arguments: str, **more: Any) -> Tool:
    parameters = {
        "type": "object",
        "properties": {argument: {"type": "string"} for argument in arguments},
        "required": list(arguments),
    }
    return Tool(name=name, description=description, category=category, parameters=parameters, call=_call, **more)


def site() -> Catalog:
    """Seven tools in three categories, one of them without."""
    return Catalog(
        [
            make("list_pages", "List the pages of the site.", "pages"),
            make(
                "get_page",
                "Get one page by its slug.",
                "pages",
                "slug",
                related=["list_pages", "delete_page"],
                protocol=Protocol(before="Find the slug with list_pages.", gotcha="Drafts are left out."),
            ),
            make("delete_page", "Delete a page for good.", "pages", "slug", risk="destructive"),
            make("search_images", "Search images by what they show.", "images", "query"),
            make("upload_image", "Put an image into the library.", "images", "url", risk="moderate"),
            make("get_weather", "Tell the weather of a city.", "", "city"),
            make("ask_writer", "Let the writer draft a text.", "agents", "task", source="agent:writer"),
        ]
    )


class ScriptedIndex:
    """Finds what it is told to, as far as the caller may see it."""

    def __init__(self, *hits: tuple[str, float], confidence: float = 0.9, path: Path = "blended") -> None:
        self.hits = hits
        self.confidence = confidence
        self.path: Path = path
        self.catalog: Catalog | None = None
        self.asked: list[tuple[str, int]] = []
        self.where: Callable[[Tool], bool] | None = None

    def only(self, where: Callable[[Tool], bool]) -> "ScriptedIndex":
        view = copy(self)
        view.where = where
        return view

    def search(self, query: str, *, limit: int = 5) -> SearchResult:
        self.asked.append((query, limit))
        where = self.where
        held = {tool.name: tool for tool in self.catalog or ()}
        seen = [Hit(name=name, score=score) for name, score in self.hits if where is None or where(held[name])]
        confidence = self.confidence if seen else 0.0
        path: Path = self.path if seen else "none"
        return SearchResult(hits=tuple(seen[:limit]), confidence=confidence, path=path, took_ms=0.0)

    async def search_async(self, query: str, **more: Any) -> SearchResult:
        return self.search(query, **more)


def toolbox(index: ScriptedIndex | None = None, catalog: Catalog | None = None, **options: Any) -> Toolbox:
    """A toolbox over the site; without an index given, nothing is ever found."""
    held = catalog or site()
    scripted = index or ScriptedIndex()
    scripted.catalog = held
    return Toolbox(held, cast("ToolIndex", scripted), **options)  # a stand-in with the same two methods


async def said(box: Toolbox, called: str, /, **arguments: Any) -> tuple[str, int]:
    """What a model reads, and how many tokens that is."""
    result = await box.call(called, arguments)
    return result.text, count_tokens(result.text)
