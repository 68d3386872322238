"""An MCP server elsewhere: the SDK's HTTP transports, over a client that sees what they do not tell.

They turn every refusal into the same error; we need the status to say "needs a login". And they read an answer of any
size; ours ends at a limit. Redirects are the SDK's business: it follows them only within the server's own origin.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from typing_extensions import Unpack

from toolcrib.sources.mcp_questions import ServerQuestions
from toolcrib.sources.mcp_relay import RelaySession, relaying
from toolcrib.sources.mcp_server import McpServer
from toolcrib.sources.web_logging import keep_keys_out_of_logs

_CONNECT_SECONDS = 30.0
_READ_SECONDS = 300.0  # an event stream may be silent for long; calls have limits of their own


class WatchedTransport(httpx2.AsyncBaseTransport):
    """Sends requests, remembers the last refusal, and cuts answers that are too large."""

    def __init__(self, most_bytes: int, *, needs_stream: bool = False) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self._needs_stream = needs_stream
        self._most_bytes = most_bytes
        self.refusal: int | None = None  # the status of the last request, if it was refused
        self.cut = False  # whether an answer was too large

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        # A GET is the stream on which a server tells news as long as the connection lasts. It has no size, and many
        # servers refuse it; only where nothing else works without it (SSE) does that matter.
        if request.method == "POST" or (self._needs_stream and response.status_code >= 400):
            self.refusal = response.status_code if response.status_code >= 400 else None
        if request.method == "POST" and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(response.stream, self)
        return response

    def refuse_more_than(self, size: int) -> None:
        """Complain about an answer of this size, if it is too large."""
        if size > self._most_bytes:
            self.cut = True
            raise httpx2.StreamError(f"the answer is larger than {self._most_bytes:,} bytes")

    async def aclose(self) -> None:
        await self._inner.aclose()


class HttpTransport(ClientTransport):
    """One MCP server over streamable HTTP, or over HTTP with SSE."""

    def __init__(
        self,
        server: McpServer,
        *,
        most_message_bytes: int,
        auth: httpx2.Auth | None = None,
        questions: ServerQuestions | None = None,
    ) -> None:
        self.legacy_only = server.transport == "sse"  # it is older than the newer protocol
        self.watched = WatchedTransport(most_message_bytes, needs_stream=self.legacy_only)
        self._server = server
        self._most_message_bytes = most_message_bytes
        self._auth = auth
        self._questions = questions

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession, None]:
        """Connect for as long as the block lasts."""
        self.watched = WatchedTransport(self._most_message_bytes, needs_stream=self.legacy_only)
        async with (
            self._streams() as (received, outgoing),
            RelaySession(received, outgoing, **relaying(session_kwargs, self._questions)) as session,
        ):
            yield session

    @asynccontextmanager
    async def _streams(self) -> AsyncGenerator[TransportStreams, None]:
        if self._server.transport == "sse":
            async with sse_client(self._server.url, httpx_client_factory=self._client) as streams:
                yield streams
        else:
            async with (
                self._client() as client,
                streamable_http_client(
                    self._server.url, http_client=client, max_sse_event_size=self._most_message_bytes
                ) as streams,
            ):
                yield streams

    def _client(self, *_: object, **__: object) -> httpx2.AsyncClient:
        """Our own client, whatever the SDK would rather have."""
        keep_keys_out_of_logs()
        return httpx2.AsyncClient(
            headers=dict(self._server.headers),
            auth=self._auth,
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
            transport=self.watched,
        )


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, watched: WatchedTransport) -> None:
        self._inner = inner
        self._watched = watched

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._inner:
            size += len(piece)
            self._watched.refuse_more_than(size)
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
