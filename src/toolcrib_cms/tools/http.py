"""HTTP: requests to addresses outside, behind Toolcrib's guard."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from toolcrib.sources import Web, WebLimits, WebResponse
from toolcrib_cms.tools.arguments import Row

_MOST_LETTERS = 20_000  # of a body that a model gets to read
_SHOWN_HEADERS = ("content-type", "content-length", "location", "last-modified", "etag", "retry-after", "server")
_TEXT_KINDS = ("text/", "application/json", "application/xml", "application/javascript", "application/x-www-form")

Url = Annotated[str, Field(description="Full address, http or https", min_length=1, max_length=2000)]
Headers = Annotated[dict[str, str], Field(description="Request headers by name")]
Seconds = Annotated[float, Field(description="Seconds to wait", gt=0, le=60)]


class HttpTools:
    """The tools of the category `http`."""

    def __init__(self, web: Web) -> None:
        self._web = web

    @property
    def methods(self) -> Sequence[Callable[..., Any]]:
        """In the order they are listed."""
        return (self.http_get, self.http_post)

    async def http_get(self, url: Url, headers: Headers | None = None, timeoutSeconds: Seconds = 15) -> Row:
        """Send an HTTP GET request to an external address and return status, headers and body."""
        return _as_row(await self._web.fetch(url, headers=headers, limits=WebLimits(seconds=timeoutSeconds)))

    async def http_post(
        self,
        url: Url,
        body: Annotated[dict[str, Any] | list[Any] | None, Field(description="Data to send as JSON")] = None,
        headers: Headers | None = None,
        timeoutSeconds: Seconds = 15,
    ) -> Row:
        """Send data to an external address with an HTTP POST request and return the answer."""
        sent: Mapping[str, str] = {"content-type": "application/json", **(headers or {})}
        content = json.dumps(body if body is not None else {}).encode()
        limits = WebLimits(seconds=timeoutSeconds)
        return _as_row(await self._web.fetch(url, method="POST", headers=sent, content=content, limits=limits))


def _as_row(answer: WebResponse) -> Row:
    row: Row = {
        "url": answer.url,
        "status": answer.status,
        "ok": answer.status < 400,
        "headers": {name: answer.headers[name] for name in _SHOWN_HEADERS if name in answer.headers},
    }
    if answer.redirects:
        row["redirectedFrom"] = list(answer.redirects)
    if not answer.body:
        return {**row, "body": ""}
    if answer.mime and not (answer.mime.startswith(_TEXT_KINDS) or answer.mime.endswith(("+json", "+xml"))):
        return {**row, "body": None, "note": f"{len(answer.body):,} bytes of {answer.mime}, not shown."}
    text = answer.text()
    cut = answer.cut or len(text) > _MOST_LETTERS
    if not cut and "json" in answer.mime:
        try:
            return {**row, "body": json.loads(text)}
        except ValueError:
            pass  # it says JSON and is none: shown as it is
    return {**row, "body": text[:_MOST_LETTERS], "cut": cut}
