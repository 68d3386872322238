"""An operation of an OpenAPI document as a tool, and what its answers mean to a model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from toolcrib.errors import AddressRefusedError, WebError
from toolcrib.sources.openapi_arguments import Arguments
from toolcrib.sources.openapi_request import Credential, request_of
from toolcrib.sources.web_guard import Web, WebLimits, WebResponse
from toolcrib.tools.cleaning import clean
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.tool import Risk

RISKS = {"get": Risk.SAFE, "head": Risk.SAFE, "options": Risk.SAFE, "delete": Risk.DESTRUCTIVE}  # any other: moderate
MOST_TEXT_CHARACTERS = 100_000
_MOST_ERROR_CHARACTERS = 1_500
_ADVICE = {
    400: "Correct the arguments and call it again.",
    401: "The key is missing or wrong. Tell the user.",
    403: "The key does not allow it. Tell the user.",
    404: "Check the identifiers.",
    409: "Look at how things are now before you try again.",
    422: "Correct the arguments and call it again.",
    429: "Wait before you call it again.",
}


@dataclass(frozen=True, slots=True)
class OpenApiCall:
    """Calls one operation of a service."""

    service: str
    method: str
    base_url: str
    path: str
    takes: Arguments
    web: Web = field(compare=False, repr=False)
    limits: WebLimits = field(compare=False, repr=False)
    credential: Credential | None = field(default=None, repr=False)
    needs_key: str = ""  # how to give the key that the operation needs and nobody gave

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        """The service's answer; a refusal, an error and silence are failed results that say what to do."""
        if self.needs_key:
            return ToolResult.failure(f"{self.service} needs a key. {self.needs_key}")
        try:
            asked = request_of(self.method, self.base_url, self.path, self.takes, arguments, self.credential)
        except ValueError as error:
            return ToolResult.failure(f"{self.service} was not called: {error}")
        try:
            response = await self.web.fetch(
                asked.url, method=asked.method, headers=asked.headers, content=asked.content, limits=self.limits
            )
        except AddressRefusedError:
            return ToolResult.failure(
                f"{self.service} was not called: its address may not be asked. Tell the user; it can be opened for it."
            )
        except WebError as error:
            return ToolResult.failure(f"{self.service} gave no answer: {self._without_key(str(error))}")
        return self._result(response)

    def _result(self, response: WebResponse) -> ToolResult:
        value = _value(response)
        text = value if isinstance(value, str) else as_json(value)
        if response.status < 400:
            if response.cut or len(text) > MOST_TEXT_CHARACTERS:
                text = f"{text[:MOST_TEXT_CHARACTERS]}\n\n(There is more; it was cut here. Ask for less.)"
            return ToolResult(text=text or "Done: no content.", value=value)
        said = self._without_key(clean(text, _MOST_ERROR_CHARACTERS))
        advice = _ADVICE.get(response.status) or ("Try again later." if response.status >= 500 else "")
        if wait := response.headers.get("retry-after"):
            advice = f"{advice} Retry after: {clean(wait, 40)}."
        head = f"{self.service} answered {response.status} {_phrase(response.status)}".rstrip()
        words = " ".join(filter(None, (f"{head}{': ' if said else '.'}{said}", advice)))
        return ToolResult(text=words, value=value, failed=True)

    def _without_key(self, text: str) -> str:
        if self.credential is None:
            return text
        for secret in (self.credential.key, quote(self.credential.key, safe=""), quote(self.credential.key)):
            text = text.replace(secret, "***")
        return text


def _value(response: WebResponse) -> Any:
    """The answer as data if it is any, else as text."""
    mime = response.mime
    if (mime.endswith("json") or not mime) and not response.cut:
        try:
            return json.loads(response.body) if response.body.strip() else ""
        except ValueError:
            return response.text()
    if mime.startswith(("text/", "application/xml")) or mime.endswith(("json", "+xml", "yaml", "urlencoded")):
        return response.text()
    return f"[{mime or 'bytes'}, {len(response.body):,} bytes]" if response.body else ""


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
