"""A network before PostgreSQL that fails: a proxy that holds back, loses and cuts what goes through it."""

import asyncio
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit


class BadNetwork:
    """Listens on a free port; `url` is the database by this way. All is passed on, until it is told otherwise."""

    def __init__(self, database: str) -> None:
        """Take the URL of a database behind a Unix socket."""
        self._parts = urlsplit(database)
        self._socket = str(Path(parse_qs(self._parts.query)["host"][0]) / ".s.PGSQL.5432")
        self._open = asyncio.Event()
        self._open.set()
        self._lost: set[asyncio.StreamWriter] = set()  # connections that go nowhere any more, and do not know it
        self._ends: dict[asyncio.StreamWriter, asyncio.StreamWriter] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._answers_to_lose = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"postgresql://{self._parts.username}@127.0.0.1:{port}{self._parts.path}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._server.close()
        for task in tuple(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def hold_back(self) -> None:
        """Deliver nothing, in either direction, until `deliver`: packets are lost and sent again."""
        self._open.clear()

    def deliver(self) -> None:
        """All is well again."""
        self._open.set()

    def half_open(self) -> None:
        """The database's side of each connection ends, and the other side never hears of it: nothing comes any more."""
        for client, upstream in tuple(self._ends.items()):
            self._lost.add(client)
            upstream.transport.abort()

    def cut(self) -> None:
        """Reset each connection, in the middle of whatever it says."""
        for client, upstream in tuple(self._ends.items()):
            client.transport.abort()
            upstream.transport.abort()

    def lose_answers(self, number: int = 1) -> None:
        """Reset a connection just before the next answer would be passed on: it was done, and nobody is told."""
        self._answers_to_lose = number

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            await self._open.wait()
            with suppress(OSError):
                await self._connect(reader, client)
        finally:
            client.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        answers, upstream = await asyncio.open_unix_connection(self._socket)
        self._ends[client] = upstream
        asked = asyncio.create_task(self._pipe(reader, upstream, client))
        try:
            await self._pipe(answers, client, client, are_answers=True)
            if client in self._lost:
                await asked  # until the client gives up, or we end
        finally:
            asked.cancel()
            del self._ends[client]
            self._lost.discard(client)
            upstream.transport.abort()

    async def _pipe(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        client: asyncio.StreamWriter,
        *,
        are_answers: bool = False,
    ) -> None:
        with suppress(OSError):
            while piece := await source.read(65_536):
                await self._open.wait()
                if are_answers and self._answers_to_lose:
                    self._answers_to_lose -= 1
                    client.transport.abort()
                    return
                if client in self._lost:
                    continue
                sink.write(piece)
                await sink.drain()
