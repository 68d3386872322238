"""A balancer of the simplest kind: each request goes to the next replica; what none was sent goes to the one after."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from types import TracebackType
from typing import Self

HEAD_BYTES = 65_536


class RoundRobin:
    """Listens on a free port of this machine; `url` says where."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self._turns = count()
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0, limit=HEAD_BYTES)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._server.close()
        for serving in tuple(self._serving):
            serving.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            replica = await self._connected()
            if replica is None:
                writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                await writer.drain()
            else:
                answer, request = replica
                # One request a connection: the next one goes to another replica.
                request.write(head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                upward = asyncio.create_task(_piped(reader, request))
                try:
                    await _piped(answer, writer)
                finally:
                    upward.cancel()
                    request.close()
        writer.close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in self._ports:
            port = self._ports[next(self._turns) % len(self._ports)]
            with suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", port)
        return None


async def _piped(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await source.read(HEAD_BYTES):
            sink.write(piece)
            await sink.drain()
