"""The transports to MCP servers: stdio for local programs, HTTP for remote servers.

The stdio transport differs from that of the SDK, because the program is not trusted. Messages have a maximum size and
are read in linear time (the SDK takes quadratic time: 50 MB blocked the event loop for half a minute). Stderr is read,
and only its last part is kept, so that much output neither fills the disk nor blocks the program. The end of the
program is reported at once, not at the next call.
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
from mcp import ClientSession, MCPError
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import listen
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import INTERNAL_ERROR, CallToolResult, ErrorData, JSONRPCError
from mcp_types.jsonrpc import jsonrpc_message_adapter
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from typing_extensions import Unpack

from toolcrib.sources.mcp.config import McpLimits, McpServer
from toolcrib.sources.mcp.isolation import Isolation
from toolcrib.sources.mcp.questions import ServerQuestions
from toolcrib.sources.modules.process import find_bubblewrap
from toolcrib.sources.web import keep_keys_out_of_logs


class UncheckedSession(ClientSession):
    """A session that does not validate results against output schemas: they are passed on unchanged."""

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        return


def with_question_callbacks(options: SessionKwargs, questions: ServerQuestions | None) -> SessionKwargs:
    """Add the callbacks for elicitation and sampling, if any. Without them, the client does not declare support."""
    if questions is None:
        return options
    return {**options, "elicitation_callback": questions.elicit, "sampling_callback": questions.sample}


# Remote servers: the HTTP transports of the SDK, with a client that records what they do not expose.

_CONNECT_SECONDS = 30.0
_READ_SECONDS = 300.0  # an event stream may be silent for long; calls have their own timeouts


MOST_LEVELS = 150  # of a message; the parser of the SDK refuses the whole message somewhat later
_TOO_DEEP = b'"(nested too deeply)"'
_BRACKET = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)


def shallow(text: bytes) -> bytes:
    """JSON whose too deep parts are replaced, so that one bad schema costs its tool and not the whole list."""
    if text.count(b"{") + text.count(b"[") <= MOST_LEVELS:
        return text
    kept: list[bytes] = []
    level = start = 0
    for found in _BRACKET.finditer(text):
        if (sign := found[0]) in (b"{", b"["):
            level += 1
            if level == MOST_LEVELS + 1:
                kept += [text[start : found.start()], _TOO_DEEP]
        elif sign in (b"}", b"]"):
            level -= 1
            if level == MOST_LEVELS:
                start = found.end()
    return b"".join([*kept, text[start:]]) if kept and level <= MOST_LEVELS else text


class WatchedTransport(httpx2.AsyncBaseTransport):
    """Sends requests, records the status of the last refusal, and aborts responses that are too large."""

    def __init__(self, most_bytes: int, *, needs_stream: bool = False) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self._needs_stream = needs_stream
        self._most_bytes = most_bytes
        self.refusal: int | None = None  # the status of the last request, if it was an error
        self.last_refusal: int | None = None  # the same of the last one that was an error, whatever came since
        self.cut = False  # whether a response was too large

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        # A GET opens the event stream for notifications. Its size is unlimited, and many servers refuse it, which
        # matters only for SSE, where the responses also come over this stream.
        if request.method == "POST" or (self._needs_stream and response.status_code >= 400):
            self.refusal = response.status_code if response.status_code >= 400 else None
            self.last_refusal = self.refusal or self.last_refusal
        if request.method == "POST" and isinstance(response.stream, httpx2.AsyncByteStream):
            if response.headers.get("content-encoding", "identity") != "identity":
                await response.aclose()
                raise httpx2.StreamError("the answer is compressed, although that was not asked for")
            is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
            response.stream = _LimitedStream(response.stream, self, by_line=is_stream)
        return response

    def check_size(self, size: int) -> None:
        """Raise an error if a response of this size is too large."""
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
        self.legacy_only = server.transport == "sse"  # SSE servers only support the older protocol
        self.watched = WatchedTransport(most_message_bytes, needs_stream=self.legacy_only)
        self._server = server
        self._most_message_bytes = most_message_bytes
        self._auth = auth
        self._questions = questions

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession, None]:
        """Connect while the `with` block runs."""
        self.watched = WatchedTransport(self._most_message_bytes, needs_stream=self.legacy_only)
        async with (
            self._streams() as (received, outgoing),
            UncheckedSession(received, outgoing, **with_question_callbacks(session_kwargs, self._questions)) as session,
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
        """The HTTP client to use; ignores the settings of the SDK."""
        keep_keys_out_of_logs()
        return httpx2.AsyncClient(
            # Sizes are limited as they arrive: a compressed answer could become any size.
            headers={**self._server.headers, "accept-encoding": "identity"},
            auth=self._auth,
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
            transport=self.watched,
        )


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, watched: WatchedTransport, *, by_line: bool) -> None:
        self._inner = inner
        self._watched = watched
        self._by_line = by_line  # each event of a stream has its message on one line

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, held = 0, bytearray()
        async for chunk in self._inner:
            size += len(chunk)
            self._watched.check_size(size)
            held += chunk
            if self._by_line and (end := chunk.rfind(b"\n")) >= 0:
                complete = len(held) - len(chunk) + end + 1
                yield b"".join(map(shallow, bytes(held[:complete]).splitlines(keepends=True)))
                del held[:complete]
        if held:
            yield shallow(bytes(held))

    async def aclose(self) -> None:
        await self._inner.aclose()


LOG_CHARACTERS = 4_000  # of stderr that are kept: enough for the end of a traceback
_GRACE_SECONDS = 1.0  # for the program to exit after its stdin is closed
_KILL_SECONDS = 1.0  # for the program to exit after SIGTERM
_CHUNK = 1 << 16
_MESSAGE_ID = re.compile(rb'^\s*\{[^{]*?"id"\s*:\s*(\d+)|"id"\s*:\s*(\d+)\s*\}\s*$')


class ProcessTransport(ClientTransport):
    """A local MCP server over stdin and stdout. `on_end` is called when it closes its stdout."""

    def __init__(
        self,
        server: McpServer,
        *,
        most_message_bytes: int,
        on_end: "Callable[[ProcessTransport], None]",
        questions: ServerQuestions | None = None,
    ) -> None:
        self._server = server
        self._most_message_bytes = most_message_bytes
        self._on_end = on_end
        self._questions = questions
        self._log = b""

    @property
    def log(self) -> str:
        """The last stderr output of the program."""
        return self._log.decode("utf-8", "replace")

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession, None]:
        """Run the program while the `with` block runs."""
        isolation = self._server.isolation or Isolation()
        bubblewrap = await asyncio.to_thread(find_bubblewrap) if isolation.needs_bubblewrap else None
        argv = [self._server.command, *self._server.arguments]
        process = await anyio.open_process(
            isolation.command(argv, self._server.folder, bubblewrap),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=isolation.variables(get_default_environment(), self._server.environment),
            cwd=self._server.folder,
            start_new_session=True,  # so that its child processes can be terminated with it
        )
        incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, sent = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, process, incoming)
            tasks.start_soon(self._write, process, sent)
            tasks.start_soon(self._read_stderr, process)
            try:
                options = with_question_callbacks(session_kwargs, self._questions)
                async with received, outgoing, UncheckedSession(received, outgoing, **options) as session:
                    yield session
            finally:
                with anyio.CancelScope(shield=True):
                    await _terminate(process)
                tasks.cancel_scope.cancel()

    async def _read(self, process: Process, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        assert process.stdout is not None
        line = bytearray()
        size = 0  # of the current line, including the part that was dropped
        try:
            async with incoming:
                with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                    while True:
                        head, *more = (await process.stdout.receive(_CHUNK)).split(b"\n")
                        for position, chunk in enumerate([head, *more]):
                            if position:  # a line ended before this chunk
                                if message := self._message(bytes(line), size):
                                    await incoming.send(message)
                                line, size = bytearray(), 0
                            size += len(chunk)
                            line += chunk
                            if size > self._most_message_bytes:
                                # The start and the end are enough to find the id of the message.
                                del line[_CHUNK:-_CHUNK]
        finally:
            self._on_end(self)

    def _message(self, line: bytes, size: int) -> SessionMessage | None:
        if size > self._most_message_bytes:
            return _too_large_error(line, size, self._most_message_bytes)
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(shallow(line), by_name=False))
        except ValidationError:
            return None  # not MCP, such as debug output; a call that waits for an answer has a timeout

    async def _write(self, process: Process, sent: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert process.stdin is not None
        async with sent:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                async for message in sent:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(text.encode() + b"\n")

    async def _read_stderr(self, process: Process) -> None:
        assert process.stderr is not None
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            while True:
                self._log = (self._log + await process.stderr.receive(_CHUNK))[-LOG_CHARACTERS:]


def _too_large_error(line: bytes, size: int, most: int) -> SessionMessage | None:
    """An error response in place of a message that is too large; None if the message has no id."""
    found = _MESSAGE_ID.search(line[:_CHUNK]) or _MESSAGE_ID.search(line[-_CHUNK:])
    if found is None:
        return None
    message_id = int(found[1] or found[2])
    text = f"its answer is too large: {size:,} bytes, at most {most:,}"
    return SessionMessage(
        JSONRPCError(jsonrpc="2.0", id=message_id, error=ErrorData(code=INTERNAL_ERROR, message=text))
    )


async def _terminate(process: Process) -> None:
    """Close its stdin, wait a moment, then terminate the process and its children."""
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


_CLIENT = mcp_types.Implementation(name="toolcrib", version=version("toolcrib"))
_CLOSE_SECONDS = 5.0
_REFUSED = "Server returned an error response"  # what the SDK makes of a status that is an error


class McpLink:
    """One session with a server. It raises the exceptions of the libraries; `status` and `log` have the details."""

    def __init__(
        self,
        server: McpServer,
        limits: McpLimits,
        *,
        changed: asyncio.Event,
        on_end: "Callable[[McpLink], None]",
        auth: "httpx2.Auth | None" = None,
        on_update: "Callable[[str], None] | None" = None,
        questions: ServerQuestions | None = None,
    ) -> None:
        size = limits.message_bytes
        self._transport: ProcessTransport | HttpTransport
        if server.transport == "stdio":
            self._transport = ProcessTransport(
                server, most_message_bytes=size, on_end=lambda _: on_end(self), questions=questions
            )
        else:
            self._transport = HttpTransport(server, most_message_bytes=size, auth=auth, questions=questions)
        self._changed = changed
        self._on_update = on_update or _ignore_update
        self._watched: frozenset[str] = frozenset()
        self._listener: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self.client: Client[Any] = Client(
            self._transport, message_handler=_ChangeHandler(changed, self._on_update), client_info=_CLIENT
        )

    @property
    def log(self) -> str:
        """The last stderr output of a local server: for people, never for a model."""
        return self._transport.log if isinstance(self._transport, ProcessTransport) else ""

    @property
    def status(self) -> int | None:
        """The status of the last HTTP request, if it was an error."""
        return self._transport.watched.refusal if isinstance(self._transport, HttpTransport) else None

    def status_of(self, error: Exception) -> int | None:
        """The status of the request that failed with this error; beside others that went well, it is not the last."""
        if (
            isinstance(error, MCPError)
            and error.error.message == _REFUSED
            and isinstance(self._transport, HttpTransport)
        ):
            return self._transport.watched.last_refusal
        return self.status

    def pop_cut(self) -> bool:
        """Whether a response was too large since the last call of this method."""
        if not isinstance(self._transport, HttpTransport):
            return False
        cut, self._transport.watched.cut = self._transport.watched.cut, False
        return cut

    async def open(self) -> None:
        """Start the program or connect to the server, and initialize the session."""
        await self.client.__aenter__()
        has = self.client.server_capabilities
        lists = (has.tools, has.resources, has.prompts) if has is not None else ()
        if self._is_modern and any(one is not None and one.list_changed for one in lists):
            self._listener = asyncio.create_task(self._listen(asyncio.Event()))

    @property
    def _is_modern(self) -> bool:
        return self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def watch(self, uris: frozenset[str]) -> None:
        """Be told when one of exactly these resources changes. Raises what the server or the MCP libraries raise."""
        before, self._watched = self._watched, uris
        if not self._is_modern:
            for uri in before - uris:
                with suppress(MCPError):  # it may be gone
                    await self.client.session.send_request(_unsubscription(uri), mcp_types.EmptyResult)
            for uri in uris - before:
                await self.client.session.send_request(_subscription(uri), mcp_types.EmptyResult)
        elif before != uris:
            former, listening = self._listener, asyncio.Event()
            self._listener = asyncio.create_task(self._listen(listening))
            waiting = asyncio.create_task(listening.wait())
            await asyncio.wait([self._listener, waiting], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if former is not None:  # only now, so that no change is missed
                former.cancel()

    async def close(self) -> None:
        """Close the session, and stop the program of a local server."""
        if self._listener is not None:
            self._listener.cancel()
            self._listener = None
        # In a task of its own: the client swallows a cancellation while it closes, and ours must not get lost there.
        self._closing = self._closing or asyncio.create_task(self._close_client())
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            await asyncio.wait([self._closing])  # no program stays behind; this takes as long as the time limit
            raise

    async def _close_client(self) -> None:
        with suppress(Exception):  # foreign code: whatever the server or the MCP libraries raise while closing
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.client.close()

    async def _listen(self, listening: asyncio.Event) -> None:
        """Subscribe to changes. The newer protocol sends notifications only to subscribers."""
        with suppress(Exception):  # foreign code, as above; without notifications, the lists are still polled
            async with listen(
                self.client.session,
                tools_list_changed=True,
                resources_list_changed=True,
                prompts_list_changed=True,
                resource_subscriptions=sorted(self._watched),
            ) as changes:
                listening.set()
                async for change in changes:
                    if isinstance(change, ResourceUpdated):
                        self._on_update(change.uri)
                    else:
                        self._changed.set()


def _ignore_update(uri: str) -> None:
    """Nobody watches a resource."""


def _subscription(uri: str) -> mcp_types.SubscribeRequest:
    return mcp_types.SubscribeRequest(params=mcp_types.SubscribeRequestParams(uri=uri))


def _unsubscription(uri: str) -> mcp_types.UnsubscribeRequest:
    return mcp_types.UnsubscribeRequest(params=mcp_types.UnsubscribeRequestParams(uri=uri))


class _ChangeHandler(MessageHandler):
    """Hears what servers of the older protocol say without being asked."""

    def __init__(self, changed: asyncio.Event, on_update: "Callable[[str], None]") -> None:
        self._changed = changed
        self._on_update = on_update

    async def on_tool_list_changed(self, message: mcp_types.ToolListChangedNotification) -> None:
        self._changed.set()

    async def on_resource_list_changed(self, message: mcp_types.ResourceListChangedNotification) -> None:
        self._changed.set()

    async def on_prompt_list_changed(self, message: mcp_types.PromptListChangedNotification) -> None:
        self._changed.set()

    async def on_resource_updated(self, message: mcp_types.ResourceUpdatedNotification) -> None:
        self._on_update(message.params.uri)
