"""One connection to an MCP server while it lasts: the SDK's client, its transport, and who listens for news."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import mcp_types
from fastmcp.client import Client
from fastmcp.client.messages import MessageHandler
from mcp.client.subscriptions import listen
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib.sources.mcp_http import HttpTransport
from toolcrib.sources.mcp_limits import McpLimits
from toolcrib.sources.mcp_questions import ServerQuestions
from toolcrib.sources.mcp_server import McpServer
from toolcrib.sources.mcp_stdio import ProcessTransport

if TYPE_CHECKING:
    import httpx2

_CLIENT = mcp_types.Implementation(name="toolcrib", version=version("toolcrib"))
_CLOSE_SECONDS = 5.0


class McpLink:
    """Opened once and closed once. What it raises is the libraries' own; `status` and `log` tell more."""

    def __init__(
        self,
        server: McpServer,
        limits: McpLimits,
        *,
        news: asyncio.Event,
        ended: "Callable[[McpLink], None]",
        auth: "httpx2.Auth | None" = None,
        questions: ServerQuestions | None = None,
    ) -> None:
        size = limits.message_bytes
        self._transport: ProcessTransport | HttpTransport
        if server.transport == "stdio":
            self._transport = ProcessTransport(
                server, most_message_bytes=size, ended=lambda _: ended(self), questions=questions
            )
        else:
            self._transport = HttpTransport(server, most_message_bytes=size, auth=auth, questions=questions)
        self._news = news
        self._listening: asyncio.Task[None] | None = None
        self.client: Client[Any] = Client(self._transport, message_handler=_News(news), client_info=_CLIENT)

    @property
    def log(self) -> str:
        """The end of what a server on this machine wrote to stderr: for people, never for a model."""
        return self._transport.log if isinstance(self._transport, ProcessTransport) else ""

    @property
    def status(self) -> int | None:
        """The status of the last request over HTTP, if it was refused."""
        return self._transport.watched.refusal if isinstance(self._transport, HttpTransport) else None

    def take_cut(self) -> bool:
        """Whether an answer was too large since somebody asked."""
        if not isinstance(self._transport, HttpTransport):
            return False
        cut, self._transport.watched.cut = self._transport.watched.cut, False
        return cut

    async def open(self) -> None:
        """Start the program, or reach the server, and say hello."""
        await self.client.__aenter__()
        capabilities = self.client.server_capabilities
        tells = capabilities is not None and capabilities.tools is not None and capabilities.tools.list_changed
        if tells and self.client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            self._listening = asyncio.create_task(self._listen())

    async def close(self) -> None:
        """End it, and the program if it is one."""
        if self._listening is not None:
            self._listening.cancel()
            self._listening = None
        with suppress(Exception):  # foreign code: the server, through several libraries; it is on its way out
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.client.close()

    async def _listen(self) -> None:
        """In the newer protocol, news of tools come only to those who listen."""
        with suppress(Exception):  # foreign code, as above; without news there is still the look from time to time
            async with listen(self.client.session, tools_list_changed=True) as changes:
                async for _ in changes:
                    self._news.set()


class _News(MessageHandler):
    def __init__(self, news: asyncio.Event) -> None:
        self._news = news

    async def on_tool_list_changed(self, message: mcp_types.ToolListChangedNotification) -> None:
        self._news.set()
