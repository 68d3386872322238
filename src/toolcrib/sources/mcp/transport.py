"""An MCP server that is a program on this machine: started, spoken to over its pipes, and surely ended.

The SDK has such a transport; ours differs in what an untrusted program can do to us. A message has a largest size, and
is read in time that grows with its length, not with the square of it (50 MB took half a minute of the whole loop). What
it writes to stderr is drained and only its end kept, so that a chatty program neither fills a disk nor blocks. And the
end of the program is told at once, not at the next call.
"""

import asyncio
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from subprocess import PIPE
from typing import Any

import anyio
import httpx2
import mcp_types
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp.client import Client
from fastmcp.client.messages import MessageHandler
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import listen
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, CallToolResult, ErrorData, JSONRPCError
from mcp_types.jsonrpc import jsonrpc_message_adapter
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from typing_extensions import Unpack

from toolcrib.sources.mcp.config import McpLimits, McpServer
from toolcrib.sources.mcp.questions import ServerQuestions
from toolcrib.sources.web import keep_keys_out_of_logs

# A session with an MCP server that stands between two others: it hands on, and judges nothing.


class RelaySession(ClientSession):
    """A session that hands results on as they are: what a server promised of its output is for the reader to judge."""

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        return


def relaying(options: SessionKwargs, questions: ServerQuestions | None) -> SessionKwargs:
    """A session's options, with somebody who takes the server's questions; else the server is told that nobody does."""
    if questions is None:
        return options
    return {**options, "elicitation_callback": questions.elicit, "sampling_callback": questions.sample}


# An MCP server elsewhere: the SDK's HTTP transports, over a client that sees what they do not tell.

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


LOG_CHARACTERS = 4_000  # of what a program wrote to stderr: enough for the end of a traceback
_GRACE_SECONDS = 1.0  # for a program to end by itself when its input ends
_KILL_SECONDS = 1.0  # then for it to obey SIGTERM
_CHUNK = 1 << 16
_ANSWER_TO = re.compile(rb'^\s*\{[^{]*?"id"\s*:\s*(\d+)|"id"\s*:\s*(\d+)\s*\}\s*$')


class ProcessTransport(ClientTransport):
    """One program that speaks MCP over stdin and stdout. `ended` is called when it closes its output."""

    def __init__(
        self,
        server: McpServer,
        *,
        most_message_bytes: int,
        ended: "Callable[[ProcessTransport], None]",
        questions: ServerQuestions | None = None,
    ) -> None:
        self._server = server
        self._most_message_bytes = most_message_bytes
        self._ended = ended
        self._questions = questions
        self._log = b""

    @property
    def log(self) -> str:
        """The end of what the program wrote to stderr."""
        return self._log.decode("utf-8", "replace")

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession, None]:
        """Start the program, and end it with the block."""
        process = await anyio.open_process(
            [self._server.command, *self._server.arguments],
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env={**get_default_environment(), **self._server.environment},
            cwd=self._server.folder,
            start_new_session=True,  # it may start others; they end with it
        )
        incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, sent = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, process, incoming)
            tasks.start_soon(self._write, process, sent)
            tasks.start_soon(self._drain, process)
            try:
                options = relaying(session_kwargs, self._questions)
                async with received, outgoing, RelaySession(received, outgoing, **options) as session:
                    yield session
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(process)
                tasks.cancel_scope.cancel()

    async def _read(self, process: Process, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        assert process.stdout is not None
        line = bytearray()
        size = 0  # of the present line, also of what is no longer kept of it
        try:
            async with incoming:
                with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                    while True:
                        head, *more = (await process.stdout.receive(_CHUNK)).split(b"\n")
                        for number, piece in enumerate([head, *more]):
                            if number:  # a line ended before this piece
                                if message := self._message(bytes(line), size):
                                    await incoming.send(message)
                                line, size = bytearray(), 0
                            size += len(piece)
                            line += piece
                            if size > self._most_message_bytes:
                                # Its two ends are enough to say whose answer it is.
                                del line[_CHUNK:-_CHUNK]
        finally:
            self._ended(self)

    def _message(self, line: bytes, size: int) -> SessionMessage | None:
        if size > self._most_message_bytes:
            return _too_large(line, size, self._most_message_bytes)
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValidationError:
            return None  # a program that prints where it should speak; what waits for an answer has its time limit

    async def _write(self, process: Process, sent: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert process.stdin is not None
        async with sent:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                async for message in sent:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(text.encode() + b"\n")

    async def _drain(self, process: Process) -> None:
        assert process.stderr is not None
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while True:
                self._log = (self._log + await process.stderr.receive(_CHUNK))[-LOG_CHARACTERS:]


def _too_large(line: bytes, size: int, most: int) -> SessionMessage | None:
    """An error in place of an answer that nobody should have to hold; None if it does not show whose answer it was."""
    found = _ANSWER_TO.search(line[:_CHUNK]) or _ANSWER_TO.search(line[-_CHUNK:])
    if found is None:
        return None
    number = int(found[1] or found[2])
    text = f"its answer is too large: {size:,} bytes, at most {most:,}"
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=INTERNAL_ERROR, message=text)))


async def _end(process: Process) -> None:
    """Close its input, wait a moment, then end it and all that it started."""
    assert process.stdin is not None
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(_GRACE_SECONDS):
        await process.wait()
    if sys.platform == "win32":  # pragma: no cover
        with suppress(ProcessLookupError):
            process.kill()
    else:
        await terminate_posix_process_tree(process, _KILL_SECONDS)
    with anyio.move_on_after(_KILL_SECONDS):
        await process.aclose()


# One connection to an MCP server while it lasts: the SDK's client, its transport, and who listens for news.

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
