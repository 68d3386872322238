"""MCP servers as sources of tools (extra `agent` or `gateway`). Import it late: it loads the MCP libraries."""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from toolcrib.errors import MissingExtraError, SourceError, ToolDefinitionError
from toolcrib.sources.breaker import Clock
from toolcrib.sources.mcp_limits import McpLimits
from toolcrib.sources.mcp_server import McpServer
from toolcrib.sources.names import ToolNames
from toolcrib.sources.shelf import Shelf
from toolcrib.sources.source import SourceState, ToolHolder
from toolcrib.tools.tool import Tool

try:
    import mcp_types

    from toolcrib.sources.mcp_connection import McpConnection, Sleep
    from toolcrib.sources.mcp_tool import McpToolCall, tool_of
except ModuleNotFoundError as error:
    raise MissingExtraError("A tool of an MCP server", "gateway") from error

if TYPE_CHECKING:
    import httpx2

_POLL_SHARE = 50  # pauses are so many times as long as it takes to get a list: thousands of tools take seconds
logger = logging.getLogger(__name__)


class McpSource:
    """The tools of one MCP server in a catalogue, kept as the server has them.

    Its tools stay in the catalogue while the server is down: they are found, and a call says what is wrong. What a
    server says of itself beyond its tools (its instructions) is not read.
    """

    def __init__(
        self,
        server: McpServer,
        catalog: ToolHolder,
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
        self._shelf = Shelf(catalog)
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
        """Its tools, as the catalogue has them."""
        return self._shelf.tools

    def hold(self, known: Iterable[Mapping[str, Any]]) -> None:
        """Put tools into the catalogue that the server had before, so that they are found while it still starts.

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

    async def settled(self) -> None:
        """Wait until it is known how the server is. That has an end, for each try has a time limit."""
        if not self.server.disabled:
            await self._settled.wait()

    async def refresh(self) -> None:
        """Take the server's list of tools now; a failure is told by `state` and `problem`."""
        with suppress(SourceError):
            await self._refresh()

    async def stop(self) -> None:
        """End the connection, and take the tools out of the catalogue."""
        keeping, self._keeping = self._keeping, None
        if keeping is not None:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping
        await self._connection.close()
        self._shelf.clear()
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
        names = self.names.give(wanted)
        held = {tool.name: tool for tool in self._shelf.tools}
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
        self.problems = (*problems, *self._shelf.keep(tools))
