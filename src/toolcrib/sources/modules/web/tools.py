"""The tools of the module `web`."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Field, SkipValidation

from toolcrib.errors import ToolRefusedError
from toolcrib.sources.modules.offer import offered
from toolcrib.sources.modules.web.readable import readable
from toolcrib.sources.modules.web.search_services import Provider, SearchService
from toolcrib.sources.modules.web.words import WORDS
from toolcrib.sources.modules.workdir.files import write_whole
from toolcrib.sources.modules.workdir.workdir import Workdir
from toolcrib.sources.web_guard import Web, WebGuard, WebLimits, WebResponse
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

Url: TypeAlias = Annotated[str, Field(description="Full address, http or https", min_length=1, max_length=2000)]
Row: TypeAlias = dict[str, Any]

_PAGES = ("text/html", "application/xhtml+xml")


def web(
    *,
    workdir: Path,
    search_provider: Provider | None = None,
    search_key: str | None = None,
    search_url: str | None = None,
    timeout_seconds: Annotated[float, Field(gt=0)] = 20.0,
    max_page_bytes: Annotated[int, Field(ge=1)] = 5_000_000,
    max_download_bytes: Annotated[int, Field(ge=1)] = 50_000_000,
    max_result_characters: Annotated[int, Field(ge=100)] = 20_000,
    guard: Annotated[Web | None, SkipValidation] = None,
) -> tuple[Tool, ...]:
    """The web: `web_search` is there when a `search_provider` is.

    `guard` takes the place of the guarded web, for tests and for a web of one's own.
    """
    service = SearchService.of(search_provider, search_key, search_url) if search_provider else None
    tools = WebTools(
        Workdir(workdir),
        guard or WebGuard(),
        # The address of a search service of one's own is often private. It is open to searches, not to `web_fetch`.
        search_web=guard or WebGuard(open_origins=[service.origin] if service and search_url else ()),
        service=service,
        page=WebLimits(seconds=timeout_seconds, body_bytes=max_page_bytes),
        download=WebLimits(seconds=timeout_seconds, body_bytes=max_download_bytes),
        max_result_characters=max_result_characters,
    )
    return offered(tools.methods, WORDS)


class WebTools:
    """Reading, searching, downloading."""

    def __init__(
        self,
        workdir: Workdir,
        web: Web,
        *,
        search_web: Web,
        service: SearchService | None,
        page: WebLimits,
        download: WebLimits,
        max_result_characters: int,
    ) -> None:
        self._workdir, self._web, self._search_web, self._service = workdir, web, search_web, service
        self._page, self._download = page, download
        self._max_result_characters = max_result_characters

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed; what is not set up is not among them."""
        return (self.web_fetch, *((self.web_search,) if self._service else ()), self.web_download)

    async def web_fetch(
        self,
        url: Url,
        start_character: Annotated[int, Field(description="Where to read on in a long text", ge=0)] = 0,
    ) -> ToolResult:
        """Open a web page by its address and return its readable text."""
        answer = _usable(await self._web.fetch(url, limits=self._page))
        kind = answer.mime or "text/html"
        if not (kind.startswith("text/") or kind.endswith(("xml", "json", "javascript"))):
            raise ToolRefusedError(
                f"{answer.url} is {kind}, not text.", hint="Save it with web_download, or ask for a page with text."
            )
        title, text = "", answer.text()
        if kind in _PAGES:
            title, text = await asyncio.to_thread(readable, text, answer.url)
        if not text.strip():
            raise ToolRefusedError(
                f"No readable text was found at {answer.url}.", hint="It may need a browser; try another source."
            )
        end = start_character + self._max_result_characters
        part = text[start_character:end]
        if not part:
            raise ToolRefusedError(f"The text has only {len(text):,} characters.", hint="Start further up.")
        notes = [answer.url, *([title] if title else [])]
        if start_character or len(text) > end:
            notes.append(f"characters {start_character}-{start_character + len(part)} of {len(text)}")
        if answer.cut:
            notes.append("the page is longer than what is read of it")
        value = {"url": answer.url, "title": title or answer.url, "text": part, "characters": len(text)}
        return ToolResult(text=f"[{'; '.join(notes)}]\n{part}", value=value)

    async def web_search(
        self,
        query: Annotated[str, Field(description="What to search for", min_length=1, max_length=400)],
        limit: Annotated[int, Field(description="Most results", ge=1, le=20)] = 5,
    ) -> Row:
        """Search the web and return titles, addresses and snippets."""
        assert self._service is not None  # else it is not offered
        return {"query": query, "results": await self._service.search(self._search_web, query, limit)}

    async def web_download(
        self,
        url: Url,
        path: Annotated[str, Field(description="Where to put it, such as downloads/report.pdf", min_length=1)],
        overwrite: Annotated[bool, Field(description="Replace a file that is already there")] = False,
    ) -> Row:
        """Download a file from the web into the work folder."""
        answer = _usable(await self._web.fetch(url, limits=self._download))
        if answer.cut:
            raise ToolRefusedError(
                f"{answer.url} is larger than {self._download.body_bytes:,} bytes; nothing was saved.",
                hint="Tell the user, or look for a smaller file.",
            )
        written = await asyncio.to_thread(self._save, path, answer.body, overwrite)
        return {"path": written, "bytes": len(answer.body), "type": answer.mime, "url": answer.url}

    def _save(self, path: str, content: bytes, overwrite: bool) -> str:
        with self._workdir.place(path, writing=True, make_folders=True) as place:
            write_whole(place, content, overwrite=overwrite)
        return place.path


def _usable(answer: WebResponse) -> WebResponse:
    if answer.status >= 400:
        raise ToolRefusedError(
            f"{answer.url} answered {answer.status}.", hint="Check the address, or look for another one."
        )
    return answer
