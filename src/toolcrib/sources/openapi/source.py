"""Services with an OpenAPI document as sources of tools: every operation is one."""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote, urlsplit

from toolcrib.errors import (
    AddressRefusedError,
    CatalogError,
    SourceConfigError,
    SourceError,
    ToolDefinitionError,
    WebError,
)
from toolcrib.settings import Settings
from toolcrib.sources.names import ToolNames, safe_prefix
from toolcrib.sources.openapi.document import MOST_SECONDS, OpenApiDocument, checked_path
from toolcrib.sources.openapi.request import Arguments, Credential, arguments_of, request_of, result_schema
from toolcrib.sources.source import DocumentSource, SourceState, ToolSink
from toolcrib.sources.web import Web, WebGuard, WebLimits, WebResponse, keep_keys_out_of_logs
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.schema import items, mapping
from toolcrib.tools.text import clean, clean_words, sentences
from toolcrib.tools.tool import Risk, Tool
from toolcrib.tools.verbs import Effect, effect_of

# An operation of an OpenAPI document as a tool, and its answers as results for a model.

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
    needs_key: str = ""  # how to provide the missing key of the operation
    auth: tuple[str, str] | None = None  # where a key goes, whether or not there is one: kind and name

    @property
    def target(self) -> dict[str, Any]:
        """The request that a call makes, for pinning: its address, its parts, and how the key is sent."""
        return {
            "method": self.method,
            "address": f"{self.base_url}{self.path}",
            "arguments": {one.name: [one.place, one.original, one.style, one.explode] for one in self.takes.arguments},
            "body": self.takes.body_type,
            "auth": list(self.auth) if self.auth else None,
        }

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        """The service's answer; refusals, errors and timeouts are failed results that say what to do."""
        if self.needs_key:
            return ToolResult.failure(f"{self.service} needs a key. {self.needs_key}")
        try:
            asked = request_of(self.method, self.base_url, self.path, self.takes, arguments, self.credential)
        except ValueError as error:
            return ToolResult.failure(f"{self.service} was not called: {error}")
        except AddressRefusedError:  # its message may hold the key
            return ToolResult.failure(f"{self.service} was not called: these arguments make no address.")
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
        message = self._without_key(clean(text, _MOST_ERROR_CHARACTERS))
        advice = _ADVICE.get(response.status) or ("Try again later." if response.status >= 500 else "")
        if wait := response.headers.get("retry-after"):
            advice = f"{advice} Retry after: {clean(wait, 40)}."
        head = f"{self.service} answered {response.status} {_phrase(response.status)}".rstrip()
        words = " ".join(filter(None, (f"{head}{': ' if message else '.'}{message}", advice)))
        return ToolResult(text=words, value=value, failed=True)

    def _without_key(self, text: str) -> str:
        if self.credential is None:
            return text
        for secret in (self.credential.key, quote(self.credential.key, safe=""), quote(self.credential.key)):
            text = text.replace(secret, "***")
        return text


def _value(response: WebResponse) -> Any:
    """The answer as data if it is JSON, else as text."""
    mime = response.mime
    if (mime.endswith("json") or not mime) and not response.cut:
        try:
            return json.loads(response.body) if response.body.strip() else ""
        except (ValueError, RecursionError):
            return response.text()
    if mime.startswith(("text/", "application/xml")) or mime.endswith(("json", "+xml", "yaml", "urlencoded")):
        return response.text()
    return f"[{mime or 'bytes'}, {len(response.body):,} bytes]" if response.body else ""


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


DOCUMENT_LIMITS = WebLimits(seconds=30, body_bytes=20_000_000)
CALL_LIMITS = WebLimits(seconds=30, body_bytes=2_000_000)
_MOST_DESCRIPTION_CHARACTERS = 1_000
MOST_OPERATIONS = 20_000
_AMBIGUOUS = re.compile(r"[\\?#@\x00-\x20\x7f]")


class OpenApiSource(DocumentSource):
    """The operations of one service in a catalog.

    `document` is a file or an address. All requests go through a `WebGuard`: to call a service on this machine or in
    your own network, open its origin (`open_origins`). The key is `key`, else the value of `TOOLCRIB_KEY_<NAME>`.
    """

    def __init__(
        self,
        name: str,
        document: str | Path,
        catalog: ToolSink,
        *,
        base_url: str | None = None,
        key: str | None = None,
        open_origins: tuple[str, ...] = (),
        web: Web | None = None,
        limits: WebLimits = CALL_LIMITS,
        settings: Settings | None = None,
    ) -> None:
        keep_keys_out_of_logs()
        super().__init__(f"openapi:{name}", catalog)
        self.names = ToolNames(name)
        self.state = SourceState.STARTING
        self.problem = ""
        self.problems: tuple[str, ...] = ()  # operations that cannot be tools, a sentence each
        self._name = name
        self._place = str(document)
        self._base_url = base_url
        self._key = key or (settings or Settings.from_environment()).key_of(name)
        self._web = web or WebGuard(open_origins=open_origins)
        self._limits = limits

    @property
    def place(self) -> str:
        """The file or the address of its document."""
        return self._place

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Its tools, as the catalog has them."""
        return self._source_tools.tools

    async def refresh(self) -> None:
        """Read the document again. On failure `state` and `problem` say why, and the tools stay unchanged."""
        try:
            document = await self._document()
            tools = await asyncio.to_thread(self._tools, document)
        except SourceError as error:
            self.state, self.problem = SourceState.DOWN, str(error)
            return
        refused = self._source_tools.sync(tools)
        self.problems = (*self.problems, *refused)
        locked = any(isinstance(tool.call, OpenApiCall) and tool.call.needs_key for tool in tools)
        self.state = SourceState.NEEDS_LOGIN if locked else SourceState.READY
        self.problem = f"{self._name} needs a key. {self._how_to_give_a_key}" if locked else ""

    async def _document(self) -> OpenApiDocument:
        if self._place.startswith(("http://", "https://")):
            try:
                response = await self._web.fetch(self._place, limits=DOCUMENT_LIMITS)
            except WebError as error:
                raise SourceError(f"The document of {self._name} cannot be fetched: {error}") from None
            if response.status != 200 or response.cut:
                reason = "is too large" if response.cut else f"answers with status {response.status}"
                raise SourceError(f"The document of {self._name} cannot be fetched: its address {reason}.")
            text = response.text()
        else:
            text = await asyncio.to_thread(_read, self._place)
        return await asyncio.to_thread(OpenApiDocument.parsed, text, self._place)

    def _tools(self, document: OpenApiDocument) -> list[Tool]:
        base_url = self._checked_base_url(document)
        problems: list[str] = []
        listed = islice(document.operations(problems), MOST_OPERATIONS + 1)
        operations = {_identity(found[0], found[1], found[3]): found for found in listed}
        if len(operations) > MOST_OPERATIONS:
            raise SourceConfigError(f"{self._place}: it has more than {MOST_OPERATIONS:,} operations.")
        ends_at = monotonic() + MOST_SECONDS
        names = self.names.assign(operations)
        tools: list[Tool] = []
        for identity, (method, path, item, operation) in operations.items():
            if monotonic() > ends_at:
                raise SourceConfigError(f"{self._place}: its tools cannot be made in {MOST_SECONDS:g} seconds.")
            try:
                tools.append(self._tool(names[identity], document, base_url, method, path, item, operation))
            except (SourceConfigError, ToolDefinitionError, CatalogError) as error:
                problems.append(f"{method.upper()} {path} is no tool: {error}")
        self.problems = tuple(problems)
        return tools

    def _tool(
        self,
        name: str,
        document: OpenApiDocument,
        base_url: str,
        method: str,
        path: str,
        item: Mapping[str, Any],
        operation: Mapping[str, Any],
    ) -> Tool:
        schemes = mapping(mapping(document.content.get("components")).get("securitySchemes"))
        hidden = frozenset(
            str(scheme.get("name", "")).lower()
            for scheme in map(document.resolved, schemes.values())
            if scheme.get("type") == "apiKey"
        )
        checked_path(path)
        effect = effect_of(_identity(method, path, operation))
        takes = arguments_of(document, item, operation, hidden)
        credential, needs_key = self._credential(document, operation, schemes)
        tag = next((tag for tag in items(operation.get("tags")) if isinstance(tag, str)), self._name)
        auth = (credential.kind, credential.name) if credential else None
        given = credential if self._key is not None else None
        call = OpenApiCall(self._name, method, base_url, path, takes, self._web, self._limits, given, needs_key, auth)
        return Tool(
            name=name,
            description=clean(_words(method, path, operation), _MOST_DESCRIPTION_CHARACTERS),
            parameters=clean_words(takes.schema),
            call=call,
            category=clean(tag, 60),
            risk=Risk.DESTRUCTIVE if effect is Effect.DESTROYS else RISKS.get(method, Risk.MODERATE),
            # The method says whether it only reads; a name that says otherwise is believed.
            confirm=RISKS.get(method) is not Risk.SAFE or effect in (Effect.CHANGES, Effect.DESTROYS),
            output_schema=result_schema(document, operation),
            source=self.name,
            origin=f"{document.place}: {method.upper()} {path}",
        )

    def _credential(
        self, document: OpenApiDocument, operation: Mapping[str, Any], schemes: Mapping[str, Any]
    ) -> tuple[Credential | None, str]:
        """How a key is sent with an operation, also if there is none yet, and the message for a missing one."""
        wanted = items(operation["security"] if "security" in operation else document.content.get("security"))
        choices = [list(mapping(choice)) for choice in wanted]
        if not choices or [] in choices:
            open_to_all = True
            names = next(
                (choice for choice in choices if choice), list(schemes)[:1] if "security" not in operation else []
            )
        else:
            open_to_all, names = False, choices[0]
        missing = "" if open_to_all or self._key is not None else self._how_to_give_a_key
        if not names:
            return None if schemes else Credential(kind="bearer", key=self._key or ""), missing
        return _credential(document.resolved(schemes.get(names[0])), self._key or ""), missing

    @property
    def _how_to_give_a_key(self) -> str:
        return f"Ask the user to set {Settings.key_variable(self._name)}."

    def _checked_base_url(self, document: OpenApiDocument) -> str:
        base_url = (self._base_url or document.base_url).rstrip("/")
        if not base_url.startswith(("http://", "https://")):
            raise SourceConfigError(f"{self._place}: it does not say where the service is.", hint="Give `base_url`.")
        if _AMBIGUOUS.search(base_url):  # two readers of it could see two hosts
            raise SourceConfigError(
                f"{self._place}: {base_url[:80]!r} is no plain address of a service.",
                hint="Give `base_url` without a user, `?`, `#`, backslashes and spaces.",
            )
        from_the_web = self._place.startswith("http")
        if self._key and from_the_web and self._base_url is None and _origin(base_url) != _origin(self._place):
            # A document could send the key anywhere. The owner of the key decides where it may go.
            raise SourceConfigError(
                f"{self._place}: it wants its calls, and your key, at {_origin(base_url)}.",
                hint=f"If that is right, give base_url={base_url!r}.",
            )
        return base_url


def _read(place: str) -> str:
    try:
        path = Path(place).expanduser()
        if path.stat().st_size > DOCUMENT_LIMITS.body_bytes:
            raise SourceConfigError(f"{place}: it is larger than {DOCUMENT_LIMITS.body_bytes:,} bytes.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SourceConfigError(f"{place}: it cannot be read: {reason}.", hint="Check the path.") from None


def _credential(scheme: Mapping[str, Any], key: str) -> Credential:
    kind, name = scheme.get("type"), str(scheme.get("name", ""))
    if kind == "apiKey" and scheme.get("in") in ("header", "query", "cookie"):
        return Credential(kind=str(scheme["in"]), name=name, key=key)
    basic = kind == "http" and str(scheme.get("scheme", "")).lower() == "basic"
    return Credential(kind="basic" if basic else "bearer", key=key)


def _identity(method: str, path: str, operation: Mapping[str, Any]) -> str:
    return str(operation.get("operationId") or f"{method}_{safe_prefix(path)}")


def _words(method: str, path: str, operation: Mapping[str, Any]) -> str:
    """The description of an operation: its summary, and what its description adds."""
    summary, description = (" ".join(str(operation.get(key) or "").split()) for key in ("summary", "description"))
    if summary and not summary.endswith((".", "!", "?")):
        summary += "."
    added = " ".join(sentences(description)[:4])
    if added.rstrip(".").startswith(summary.rstrip(".")):
        summary = ""
    return f"{summary} {added}".strip() or f"{method.upper()} {path}"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
