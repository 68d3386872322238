"""Limits the connections of an HTTP server: their number, and how long each may keep it waiting.

uvicorn waits for the rest of a request, of a body, or for a client that does not read, without end, and takes
connections until no file descriptor is left; then it answers nobody, and writes megabytes of log a second. Its protocol
class is extended here with three limits. Beyond the number of connections, the one that has waited longest without a
request gives way: half-sent requests cannot keep others out, and one that is being answered is never cut for a new one.

Other servers were tried with 1,300 half-sent requests and 1,024 descriptors. granian has a limit on the time for a
head, but takes nobody until it is over; hypercorn has one, too, and runs out of descriptors before it.
"""

import asyncio
import logging
import socket
import struct
import time
from collections import OrderedDict

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

ACCEPTED_AT_ONCE = 32  # by asyncio, before we see the first of them
_OTHER_DESCRIPTORS = 200  # for files, databases, servers of tools, and what is accepted but not yet seen
_NOTE_EVERY_SECONDS = 60.0
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

_RESET = struct.pack("ii", 1, 0)

logger = logging.getLogger(__name__)


class Connections:
    """The connections of one server."""

    def __init__(self, *, most: int, header_seconds: float, idle_seconds: float) -> None:
        self.most = _most(most)
        self.header_seconds = header_seconds
        self.idle_seconds = idle_seconds
        self._waiting: OrderedDict[LimitedProtocol, None] = OrderedDict()  # for a request, the longest first
        self._closed = 0  # since the last note
        self._noted = -_NOTE_EVERY_SECONDS

    def wait(self, connection: "LimitedProtocol") -> None:
        """It has no request under way."""
        self._waiting[connection] = None
        self._waiting.move_to_end(connection)

    def drop(self, connection: "LimitedProtocol") -> None:
        """It has a request under way, or is closed."""
        self._waiting.pop(connection, None)

    def make_room(self) -> bool:
        """Close the connection that has waited longest for a request; returns whether there was one."""
        if not self._waiting:
            return False
        self._waiting.popitem(last=False)[0].cut()
        return True

    def note_closed(self) -> None:
        """Tell the operator, once a minute."""
        self._closed += 1
        if time.monotonic() - self._noted >= _NOTE_EVERY_SECONDS:
            logger.warning("Connections were closed at a limit of time or number: %d.", self._closed)
            self._noted, self._closed = time.monotonic(), 0


class LimitedProtocol(H11Protocol):
    """One connection."""

    limits: Connections  # of the server: `limited_protocol` sets it

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        if len(self.connections) > self.limits.most and not self.limits.make_room():
            self.limits.note_closed()
            transport.write(_FULL)
            transport.close()
            return
        self.limits.wait(self)
        self._close_after(self.limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        self.resume_writing()
        self.limits.drop(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if not self.cycle or self.cycle.response_complete:
            if self._deadline is None:  # the first bytes of a request; more of them do not buy more time
                self._close_after(self.limits.header_seconds)
        elif self.cycle.more_body:
            self.limits.drop(self)
            self._close_after(self.limits.idle_seconds)
        else:
            self.limits.drop(self)
            self._forget_deadline()

    def on_response_complete(self) -> None:
        self._forget_deadline()
        super().on_response_complete()  # it closes a connection that stays idle
        if not self.transport.is_closing() and self.cycle.response_complete:
            self.limits.wait(self)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self.limits.idle_seconds, self.cut)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def cut(self) -> None:
        """Close it at once, whatever is under way."""
        self.limits.note_closed()
        # Reset: otherwise the kernel goes on offering what nobody reads.
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    def _close_after(self, seconds: float) -> None:
        self._forget_deadline()
        self._deadline = self.loop.call_later(seconds, self.cut)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def limited_protocol(connections: Connections) -> type[LimitedProtocol]:
    """The protocol class for one server's connections."""

    class Protocol(LimitedProtocol):
        limits = connections

    return Protocol


class LimitedServer(uvicorn.Server):
    """A server that accepts few connections at once, so that their number is known, and lets more wait for that."""

    def __init__(self, config: uvicorn.Config, connections: Connections, *, backlog: int) -> None:
        config.http, config.backlog = limited_protocol(connections), ACCEPTED_AT_ONCE
        super().__init__(config)
        self._backlog = backlog

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(self._backlog)


def _most(wanted: int) -> int:
    """As many as are wanted, if the system gives us descriptors for them."""
    try:
        import resource
    except ModuleNotFoundError:  # pragma: no cover - Windows has no such limit
        return wanted
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return wanted
    return min(wanted, max(descriptors - _OTHER_DESCRIPTORS, descriptors // 2))
