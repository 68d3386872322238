"""Research: the web, searched and read."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from toolcrib import ToolcribError
from toolcrib.sources import Web, WebLimits
from toolcrib_cms.errors import RefusalError
from toolcrib_cms.services import Services, ask_json, not_configured
from toolcrib_cms.tools.arguments import Row
from toolcrib_cms.tools.http import Url

_EXTRACT_LETTERS = 2_000  # of each source that deep research reads
_ANGLES = {"standard": ("{}", "{} guide"), "thorough": ("{}", "{} guide", "{} statistics", "{} problems criticism")}
_READERS = 4  # sources read at the same time


Reply = TypeVar("Reply", bound=BaseModel)


class _Result(BaseModel):
    title: str = ""
    url: str
    content: str = ""  # Tavily's word
    description: str = ""  # Brave's

    def row(self) -> Row:
        return {"title": self.title, "url": self.url, "snippet": self.content or self.description}


class _Tavily(BaseModel):
    results: list[_Result] = []


class _Brave(BaseModel):
    web: _Tavily = _Tavily()


class ResearchTools:
    """The tools of the category `research`."""

    def __init__(self, web: Web, services: Services) -> None:
        self._web = web
        self._services = services

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (self.web_quickSearch, self.web_deepResearch, self.web_fetchContent)

    async def web_quickSearch(
        self,
        query: Annotated[str, Field(description="What to search for", min_length=1, max_length=400)],
        limit: Annotated[int, Field(description="How many results", ge=1, le=20)] = 5,
    ) -> Row:
        """Search the web and return a short list of results with titles and snippets."""
        return {"query": query, "results": await self._search(query, limit)}

    async def web_deepResearch(
        self,
        topic: Annotated[str, Field(description="Topic or question", min_length=1, max_length=300)],
        depth: Annotated[Literal["standard", "thorough"], Field(description="How far to go")] = "standard",
        maxSources: Annotated[int, Field(description="How many sources to read", ge=3, le=30)] = 8,
    ) -> Row:
        """Research a topic thoroughly on the web: several searches, sources read side by side, extracts with references
        for a report.
        """
        asked = [angle.format(topic) for angle in _ANGLES[depth]]
        found = await asyncio.gather(*(self._search(query, maxSources) for query in asked))
        # The best of each search first, then the second best of each; an address counts once.
        order = [row for rank in range(maxSources) for rows in found for row in rows[rank : rank + 1]]
        sources = list({row["url"]: row for row in reversed(order)}.values())[::-1][:maxSources]
        turn = asyncio.Semaphore(_READERS)
        texts = await asyncio.gather(*(self._extract(row["url"], turn) for row in sources))
        read = [{**row, "extract": text} for row, text in zip(sources, texts, strict=True) if text]
        unread = [row["url"] for row, text in zip(sources, texts, strict=True) if not text]
        return {
            "topic": topic,
            "searches": asked,
            "sources": read,
            "unread": unread,
            "summary": f"Read {len(read)} of {len(sources)} sources. "
            "Write the report from the extracts and cite the urls.",
        }

    async def web_fetchContent(
        self,
        url: Url,
        maxChars: Annotated[
            int, Field(description="Cut the text after this many characters", ge=500, le=100_000)
        ] = 20_000,
    ) -> Row:
        """Open a web page by its address and return the readable text without menus and ads."""
        answer = await self._web.fetch(url, limits=WebLimits(seconds=20, body_bytes=5_000_000))
        if answer.status >= 400:
            raise RefusalError(
                f"{answer.url} answered {answer.status}.", hint="Check the address, or search for another."
            )
        kind = answer.mime or "text/html"
        if not (kind.startswith("text/") or kind.endswith(("xml", "json"))):
            raise RefusalError(f"{answer.url} is {kind}, not text.", hint="Ask for a page with text.")
        is_page = kind in ("text/html", "application/xhtml+xml")
        title, text = await asyncio.to_thread(_readable, answer.text(), answer.url) if is_page else ("", answer.text())
        if not text.strip():
            raise RefusalError(
                f"No readable text was found at {answer.url}.", hint="It may need a browser; try another source."
            )
        return {"url": answer.url, "title": title, "text": text[:maxChars], "cut": answer.cut or len(text) > maxChars}

    async def _search(self, query: str, limit: int) -> list[Row]:
        services = self._services
        if services.tavily_key:
            reply = await ask_json(
                self._web,
                f"{services.tavily}/search",
                headers={"authorization": f"Bearer {services.tavily_key}"},
                body={"query": query, "max_results": limit},
                service="Tavily",
            )
            results = _read(_Tavily, reply, "Tavily").results
        elif services.brave_key:
            reply = await ask_json(
                self._web,
                f"{services.brave}/res/v1/web/search",
                headers={"x-subscription-token": services.brave_key},
                params={"q": query, "count": limit},
                service="Brave",
            )
            results = _read(_Brave, reply, "Brave").web.results
        else:
            raise not_configured("Web search", "TAVILY_API_KEY or BRAVE_API_KEY", "tavily.com or brave.com/search/api")
        return [result.row() for result in results[:limit]]

    async def _extract(self, url: str, turn: asyncio.Semaphore) -> str:
        async with turn:
            try:
                read = await self.web_fetchContent(url, maxChars=_EXTRACT_LETTERS)
            except ToolcribError:
                return ""  # one source that does not answer must not end the research; it is listed as unread
            return str(read["text"])


def _read(model: type[Reply], reply: Any, service: str) -> Reply:
    try:
        return model.model_validate(reply)
    except ValidationError:
        raise RefusalError(f"{service} answered in a form that is not known here.", hint="Try again later.") from None


def _readable(html: str, url: str) -> tuple[str, str]:
    """Title and text of a page. Slow for large pages: runs in a thread."""
    import trafilatura  # late: loads lxml and its language data

    text = trafilatura.extract(html, url=url, include_comments=False, include_tables=True)
    metadata = trafilatura.extract_metadata(html)
    return (metadata.title if metadata else "") or "", text or ""
