"""The services that search the web: Tavily, Brave, or a SearXNG of one's own."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ValidationError

from toolcrib.errors import ModuleError, ToolRefusedError
from toolcrib.sources.web_guard import Web, WebLimits

Provider: TypeAlias = Literal["tavily", "brave", "searxng"]

_ADDRESSES: Mapping[Provider, str] = {"tavily": "https://api.tavily.com", "brave": "https://api.search.brave.com"}
_SECONDS = 20.0
_MOST_SNIPPET_CHARACTERS = 500


class _Result(BaseModel):
    title: str = ""
    url: str
    content: str = ""  # of Tavily and SearXNG
    description: str = ""  # of Brave

    def row(self) -> dict[str, str]:
        snippet = self.content or self.description
        return {"title": self.title, "url": self.url, "snippet": snippet[:_MOST_SNIPPET_CHARACTERS]}


class _Results(BaseModel):
    results: list[_Result] = []


class _Brave(BaseModel):
    web: _Results = _Results()


Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchService:
    """One service, and how to ask it."""

    provider: Provider
    address: str
    key: str | None = field(default=None, repr=False)  # a key does not belong in a log

    @classmethod
    def of(cls, provider: Provider, key: str | None, address: str | None) -> "SearchService":
        """The service that was set up, if all it needs is there."""
        where = address or _ADDRESSES.get(provider)
        if where is None:
            raise _not_set_up("search_url", "SearXNG runs at an address of your own.")
        if provider != "searxng" and not key:
            raise _not_set_up("search_key", f"Get a key for {provider}.")
        return cls(provider=provider, address=where.rstrip("/"), key=key)

    @property
    def origin(self) -> str:
        """Its address without a path."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    async def search(self, web: Web, query: str, limit: int) -> list[dict[str, str]]:
        """Titles, addresses and snippets, best first."""
        if self.provider == "tavily":
            body = {"query": query, "max_results": limit}
            headers = {"authorization": f"Bearer {self.key}"}
            found = _read(_Results, await self._ask(web, "/search", headers=headers, body=body)).results
        elif self.provider == "brave":
            headers = {"x-subscription-token": self.key or ""}
            path = f"/res/v1/web/search?{urlencode({'q': query, 'count': limit})}"
            found = _read(_Brave, await self._ask(web, path, headers=headers)).web.results
        else:
            path = f"/search?{urlencode({'q': query, 'format': 'json'})}"
            found = _read(_Results, await self._ask(web, path, headers={})).results
        return [result.row() for result in found[:limit]]

    async def _ask(self, web: Web, path: str, *, headers: Mapping[str, str], body: object = None) -> bytes:
        kind = {"content-type": "application/json"} if body is not None else {}
        answer = await web.fetch(
            f"{self.address}{path}",
            method="POST" if body is not None else "GET",
            headers={**headers, **kind, "accept": "application/json"},
            content=json.dumps(body).encode() if body is not None else None,
            limits=WebLimits(seconds=_SECONDS),
        )
        if answer.status in (401, 403):
            raise ToolRefusedError("The search service does not accept its key.", hint="Tell the user to check it.")
        if answer.status == 429:
            raise ToolRefusedError("The search service's limit is reached.", hint="Wait, or do without it.")
        if answer.status >= 400:
            raise ToolRefusedError(f"The search service answered {answer.status}.", hint="Try again later.")
        return answer.body


def _read(model: type[Reply], body: bytes) -> Reply:
    try:
        return model.model_validate_json(body)
    except ValidationError:
        raise ToolRefusedError(
            "The search service answered in a form that is not known here.", hint="Try again later."
        ) from None


def _not_set_up(option: str, hint: str) -> ModuleError:
    return ModuleError(f"The module 'web' cannot be made: `{option}` is missing.", hint=hint, options=[option])
