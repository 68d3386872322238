"""An MCP server that is a program on this machine: started, spoken to over its pipes, and surely ended.

The SDK has such a transport; ours differs in what an untrusted program can do to us. A message has a largest size, and
is read in time that grows with its length, not with the square of it (50 MB took half a minute of the whole loop). What
it writes to stderr is drained and only its end kept, so that a chatty program neither fills a disk nor blocks. And the
end of the program is told at once, not at the next call.
"""

import re
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from subprocess import PIPE

import anyio
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp.client.transports.base import ClientTransport, SessionKwargs, TransportOptions
from mcp import ClientSession
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError
from typing_extensions import Unpack

from toolcrib.sources.mcp_questions import ServerQuestions
from toolcrib.sources.mcp_relay import RelaySession, relaying
from toolcrib.sources.mcp_server import McpServer

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
