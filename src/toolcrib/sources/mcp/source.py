"""MCP servers as sources of tools (extra `agent` or `gateway`). Import it late: it loads the MCP libraries."""

import asyncio
import logging
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import mcp_types

from toolcrib.errors import MissingExtraError, SourceError, ToolDefinitionError
from toolcrib.sources.mcp.config import McpLimits, McpServer
from toolcrib.sources.mcp.connection import McpConnection
from toolcrib.sources.names import ToolNames
from toolcrib.sources.source import Clock, ReportsProgress, SourceState, SourceTools, ToolSink
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.text import clean, clean_words
from toolcrib.tools.tool import Risk, Tool

if TYPE_CHECKING:
    import httpx2


try:
    import mcp_types

    from toolcrib.sources.mcp.connection import McpConnection, Sleep

    pass
except ModuleNotFoundError as error:
    raise MissingExtraError("A tool of an MCP server", "gateway") from error


_POLL_SHARE = 50  # pauses are so many times as long as it takes to get a list: thousands of tools take seconds
logger = logging.getLogger(__name__)


class McpSource:
    """The tools of one MCP server in a catalog, kept as the server has them.

    Its tools stay in the catalog while the server is down: they are found, and a call says what is wrong. What a
    server says of itself beyond its tools (its instructions) is not read.
    """

    def __init__(
        self,
        server: McpServer,
        catalog: ToolSink,
        *,
        limits: McpLimits | None = None,
        auth: "httpx2.Auth | None" = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.server = server
        self.names = ToolNames(server.name)
        self.problems: tuple[str, ...] = ()  # tools that the server has and we cannot hold, a sentence each
        self._connection = McpConnection(server, limits=limits, auth=auth, clock=clock, sleep=sleep)
        self._source_tools = SourceTools(catalog)
        self._clock = clock
        self._sleep = sleep
        self._settled = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """What its tools have as `source`."""
        return f"mcp:{self.server.name}"

    @property
    def state(self) -> SourceState:
        return self._connection.state

    @property
    def problem(self) -> str:
        return self._connection.problem

    @property
    def log(self) -> str:
        """The end of what a server on this machine wrote to stderr: for people, never for a model."""
        return self._connection.log

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Its tools, as the catalog has them."""
        return self._source_tools.tools

    def preload(self, known: Iterable[Mapping[str, Any]]) -> None:
        """Put tools into the catalog that the server had before, so that they are found while it still starts.

        `known` are definitions in MCP's own JSON. A call starts the server, if nothing else did.
        """
        self._keep([mcp_types.Tool.model_validate(definition) for definition in known])

    def relay_questions(self) -> None:
        """Let the server ask back during a call, from the next connection on: the call's context answers.

        A server is told so when it is connected to. Without, it is told that nobody can be asked.
        """
        self._connection.relays_questions = True

    async def start(self) -> None:
        """Begin to follow the server in the background; comes back at once. A server that is switched off stays so."""
        if self._keeping is None and not self.server.disabled:
            self._keeping = asyncio.create_task(self._follow(), name=self.name)

    async def wait_until_settled(self) -> None:
        """Wait until it is known how the server is. That has an end, for each try has a time limit."""
        if not self.server.disabled:
            await self._settled.wait()

    async def refresh(self) -> None:
        """Take the server's list of tools now; a failure is told by `state` and `problem`."""
        with suppress(SourceError):
            await self._refresh()

    async def stop(self) -> None:
        """End the connection, and take the tools out of the catalog."""
        keeping, self._keeping = self._keeping, None
        if keeping is not None:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping
        await self._connection.close()
        self._source_tools.clear()
        self._settled.set()

    async def _follow(self) -> None:
        while True:
            began = self._clock()
            try:
                await self._refresh()
                pause = max(self._connection.limits.poll_seconds, _POLL_SHARE * (self._clock() - began))
            except SourceError as error:
                logger.info("%s: %s", self.name, error)
                pause = max(self._connection.pause, self._connection.limits.first_pause_seconds)
            self._settled.set()
            await self._until_news(pause)

    async def _until_news(self, seconds: float) -> None:
        """Wait for news of the server, but not longer than this."""
        news = self._connection.news
        waits = [asyncio.ensure_future(news.wait()), asyncio.ensure_future(self._sleep(seconds))]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        news.clear()

    async def _refresh(self) -> None:
        self._keep(await self._connection.tools())

    def _keep(self, definitions: Sequence[mcp_types.Tool]) -> None:
        server = self.server
        wanted = {
            definition.name: definition
            for definition in definitions
            if definition.name not in server.without and (server.only is None or definition.name in server.only)
        }
        names = self.names.assign(wanted)
        held = {tool.name: tool for tool in self._source_tools.tools}
        tools: list[Tool] = []
        problems: list[str] = []
        for original, definition in wanted.items():
            before = held.get(names[original])
            if before is not None and cast("McpToolCall", before.call).definition == definition:
                tools.append(before)  # most lists are as they were: to make thousands of tools anew takes its time
                continue
            try:
                tools.append(tool_of(definition, names[original], self._connection))
            except ToolDefinitionError as error:
                problems.append(str(error))
        self.problems = (*problems, *self._source_tools.sync(tools))


# What an MCP server's tool gave, as a result of ours: the whole answer as value, words for the model as text.

MOST_TEXT_CHARACTERS = 100_000  # of what a model reads of one result; the value holds all of it


def result_of(name: str, answer: mcp_types.CallToolResult) -> ToolResult:
    """The result of a call. The value is the answer as it came: images, structured content, metadata and all."""
    text = "\n\n".join(filter(None, map(_words, answer.content)))
    if not text and answer.structured_content is not None:
        text = as_json(answer.structured_content)
    if len(text) > MOST_TEXT_CHARACTERS:
        text = (
            f"{text[:MOST_TEXT_CHARACTERS]}\n\n"
            f"(The first {MOST_TEXT_CHARACTERS:,} of {len(text):,} characters. Ask {name} for less.)"
        )
    if answer.is_error and not text:
        text = f"{name} failed and did not say why."
    return ToolResult(text=text, value=answer, failed=answer.is_error)


def _words(block: mcp_types.ContentBlock) -> str:
    match block:
        case mcp_types.TextContent():
            return block.text
        case mcp_types.ImageContent() | mcp_types.AudioContent():
            return f"[{block.type}, {block.mime_type}, {_bytes_of(block.data):,} bytes]"
        case mcp_types.ResourceLink():
            return f"[resource {block.uri}: {block.title or block.name}]"
        case mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents() as resource):
            return f"[resource {resource.uri}]\n{resource.text}"
        case mcp_types.EmbeddedResource():
            return f"[resource {block.resource.uri}, {block.resource.mime_type or 'bytes'}]"


def _bytes_of(data: str) -> int:
    """How many bytes base64 stands for, without unpacking it."""
    return max(0, len(data) * 3 // 4 - data[-2:].count("="))


# A tool of an MCP server as one of ours: its words cleaned, its risk never believed lower than its name tells.

MOST_DESCRIPTION_CHARACTERS = 2_000
# First words of names that end something for good. Many servers say nothing of risk, and some would say anything.
_DESTRUCTIVE = frozenset(
    [
        "delete",
        "remove",
        "drop",
        "destroy",
        "erase",
        "purge",
        "wipe",
        "truncate",
        "uninstall",
        "terminate",
        "kill",
        "revoke",
    ]
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class McpToolCall:
    """Calls one tool of an MCP server. `definition` is what the server said of it, as it said it."""

    name: str  # ours
    definition: mcp_types.Tool
    connection: McpConnection = field(compare=False, repr=False)

    @property
    def as_published(self) -> dict[str, Any]:
        """The definition as the server wrote it, for pins."""
        definition = self.definition.model_dump(mode="json", by_alias=True, exclude_none=True)
        definition.pop("_meta", None)  # notes between programs: no model reads them, and some servers put times there
        return definition

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        """The server's answer; whatever keeps it from answering is a failed result that says what happened."""
        progress = context.report_progress if isinstance(context, ReportsProgress) else None
        try:
            answer = await self.connection.call(
                self.definition.name, arguments, repeatable=self._is_repeatable, progress=progress, context=context
            )
        except SourceError as error:
            return ToolResult.failure(" ".join(filter(None, (str(error), error.hint))))
        return result_of(self.name, answer)

    @property
    def _is_repeatable(self) -> bool:
        # The server's own word is enough here: it is the one that would do the work twice.
        hints = self.definition.annotations
        return hints is not None and (hints.read_only_hint is True or hints.idempotent_hint is True)


def tool_of(definition: mcp_types.Tool, name: str, connection: McpConnection) -> Tool:
    """The tool of a definition, under our name. Raises `ToolDefinitionError` for a schema that no model can be sent."""
    server = connection.server.name
    hints = definition.annotations
    title = definition.title or (hints.title if hints else None) or ""
    return Tool(
        name=name,
        description=clean(definition.description or title, MOST_DESCRIPTION_CHARACTERS),
        parameters=clean_words({"type": "object", **definition.input_schema}),
        call=McpToolCall(name, definition, connection),
        category=clean(server, 60),
        risk=risk_of(definition),
        source=f"mcp:{server}",
        origin=connection.server.origin,
    )


def risk_of(definition: mcp_types.Tool) -> Risk:
    """How much harm the tool may do. A hint can raise what its name tells, and never lower it.

    A tool that calls itself read-only is safe; whether that is believed is for the policy, by source.
    """
    hints = definition.annotations or mcp_types.ToolAnnotations()
    words = _WORD.findall(definition.name)
    if words and words[0].casefold() in _DESTRUCTIVE:
        return Risk.DESTRUCTIVE
    if hints.read_only_hint is True:
        return Risk.SAFE
    return Risk.DESTRUCTIVE if hints.destructive_hint is True else Risk.MODERATE
