"""A PostgreSQL database and its connections: pooled, opened when first used, replaced when they break.

A `transaction` that loses its connection raises, because only its caller knows whether it may be tried again. `write`
and `read` are for work that may: they begin it anew, on another connection, if PostgreSQL is back in half a minute.
"""

import asyncio
import os
import socket
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeVar

from toolcrib.errors import StoreError, require
from toolcrib.postgres.migrations import Component, migrate
from toolcrib.settings import SCHEMES

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection
    from psycopg_pool import AsyncConnectionPool


# Where a database is: its URL taken apart once, so that a password is in no message and no log.

# What a URL may say otherwise. A server that vanished without a word is noticed after half a minute, not after hours.
DEFAULTS = {
    "application_name": "toolcrib",
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
_FORM = "Write it like postgresql://user:password@host:5432/database, with %40 for an @ and %2F for a / in a password."


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """The address of a database. Its `repr` holds no password."""

    place: str
    parameters: dict[str, str] = field(repr=False)  # as the driver takes them, with the password

    @classmethod
    def read(cls, url: str) -> "PostgresAddress":
        """The address in a URL."""
        require("postgres", "PostgreSQL")
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict

        scheme, separator, rest = url.partition("://")
        try:
            parsed = conninfo_to_dict(f"postgresql://{rest}") if separator and scheme in SCHEMES else {}
        except ProgrammingError:
            parsed = {}  # its words quote the URL
        parameters = {name: str(value) for name, value in parsed.items() if value is not None}
        if not parameters or _holds_a_piece_of_a_password(rest, parameters):
            raise StoreError("This is not the URL of a PostgreSQL database.", hint=_FORM)
        return cls(_shown(parameters), DEFAULTS | parameters)

    def __str__(self) -> str:
        return self.place


def _holds_a_piece_of_a_password(rest: str, parameters: dict[str, str]) -> bool:
    """Whether a password was not escaped, so that its end would be taken, and shown, for a host, a port or a name."""
    server, _, path = rest.partition("?")[0].partition("/")
    return server.count("@") > 1 or "@" in path or not parameters.get("port", "0").replace(",", "").isdigit()


def _shown(parameters: dict[str, str]) -> str:
    user = f"{parameters['user']}@" if "user" in parameters else ""
    port = f":{parameters['port']}" if "port" in parameters else ""
    return f"postgresql://{user}{parameters.get('host', '')}{port}/{parameters.get('dbname', '')}"


PATIENCE_SECONDS = 40.0  # a database that is away for 30 seconds is reached again within these
RECONNECT_SECONDS = 1.0  # between two tries to connect: the pool alone would wait twice as long each time
OPENING_SECONDS = 5.0  # a database that was never reached may be just starting, but more likely its address is wrong
ASK_AGAIN_SECONDS = 0.1
ANSWER_SECONDS = 15.0  # for a step of a session; then the connection counts as broken, and the step is tried on another
CHECK_SECONDS = 5.0  # for a connection that was not used for a while to say that it is there, and for a lease

Result = TypeVar("Result")
Work = Callable[["AsyncConnection[Any]"], Awaitable[Result]]

_leftovers: list[object] = []  # pools of a parent process or of an ended loop: neither can be closed from here


@dataclass(slots=True)
class _Room:
    """The connections of one process and one event loop."""

    process: int
    loop: asyncio.AbstractEventLoop
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    pool: "AsyncConnectionPool[Any] | None" = None
    brought_up: list[Component] = field(default_factory=list[Component])


class PostgresDatabase:
    """A database. Use it in `async with`, or `close` it; a later use opens it again."""

    def __init__(self, url: str, *, most_connections: int = 10, answer_seconds: float | None = None) -> None:
        """Name it. A connection on which some work takes longer than `answer_seconds` counts as broken."""
        self.address = PostgresAddress.read(url)
        self._most_connections = most_connections
        self._answer_seconds = answer_seconds
        self._components: list[Component] = []
        self._room: _Room | None = None

    @property
    def place(self) -> str:
        """Where it is, without the password."""
        return self.address.place

    def require(self, component: Component) -> None:
        """Migrate a component's tables before the next connection is used."""
        if component not in self._components:
            self._components.append(component)

    @asynccontextmanager
    async def connection(self) -> "AsyncGenerator[AsyncConnection[Any]]":
        """A connection that commits each statement."""
        from toolcrib.postgres.errors import translated_errors

        with translated_errors(self.place):
            async with AsyncExitStack() as stack:
                yield await self._again_when_lost(lambda: self._enter(stack))

    @asynccontextmanager
    async def transaction(self) -> "AsyncGenerator[AsyncConnection[Any]]":
        """A connection in a transaction: committed at the end of the block, rolled back when it raises."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def own_connection(self) -> "AsyncGenerator[AsyncConnection[Any]]":
        """A connection outside the pool that commits each statement: for long use, such as listening."""
        from psycopg import AsyncConnection

        from toolcrib.postgres.errors import translated_errors

        with translated_errors(self.place):
            async with await AsyncConnection.connect(autocommit=True, **self._parameters) as connection:
                yield connection

    @contextmanager
    def connected_in_this_thread(self) -> "Generator[Connection[Any]]":
        """A connection for a thread without an event loop, which commits each statement."""
        from psycopg import Connection

        from toolcrib.postgres.errors import translated_errors

        with translated_errors(self.place), Connection.connect(autocommit=True, **self._parameters) as connection:
            timer = threading.Timer(CHECK_SECONDS, _hang_up, (connection,))  # as in `_hung_up_after`
            timer.daemon = True
            timer.start()
            try:
                yield connection
            finally:
                timer.cancel()

    async def write(self, work: Work[Result]) -> Result:
        """Let `work` write in one transaction.

        It is run anew when the connection broke. A connection may break after the database has kept the work and before
        it could say so: the second run must find that out by itself.
        """

        async def attempt() -> Result:
            async with AsyncExitStack() as stack:
                connection = await self._enter(stack, self._answer_seconds)
                async with connection.transaction():
                    return await work(connection)

        return await self._again_when_lost(attempt)

    async def send(self, work: Work[Result]) -> Result:
        """Let `work` send one statement, committed at once; cheaper than `write`."""

        async def attempt() -> Result:
            async with AsyncExitStack() as stack:
                return await work(await self._enter(stack, self._answer_seconds))

        return await self._again_when_lost(attempt)

    async def read(self, work: Work[Result]) -> Result:
        """The result of `work`, which reads in one transaction."""

        async def attempt() -> Result:
            async with AsyncExitStack() as stack:
                connection = await self._enter(stack, self._answer_seconds)
                await stack.enter_async_context(connection.transaction())
                await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                return await work(connection)

        return await self._again_when_lost(attempt)

    async def close(self) -> None:
        """Close all connections."""
        room, self._room = self._room, None
        if room is not None and room.pool is not None:
            if room.loop is asyncio.get_running_loop() and room.process == os.getpid():
                await room.pool.close()
            else:
                _leftovers.append(room)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"PostgresDatabase({self.place!r})"

    async def _again_when_lost(
        self, attempt: Callable[[], Awaitable[Result]], patience_seconds: float | None = None
    ) -> Result:
        from toolcrib.postgres.errors import is_connection_lost, translated_errors

        deadline = time.monotonic() + (PATIENCE_SECONDS if patience_seconds is None else patience_seconds)
        with translated_errors(self.place):
            while True:
                try:
                    return await attempt()
                except StoreError:  # said by us, or by the work: not a broken connection
                    raise
                except Exception as error:
                    if not is_connection_lost(error) or time.monotonic() >= deadline:
                        raise
                await asyncio.sleep(ASK_AGAIN_SECONDS)

    async def _enter(self, stack: AsyncExitStack, answer_seconds: float | None = None) -> "AsyncConnection[Any]":
        """A connection until the stack ends. Each try lets the pool connect at once if it has given up meanwhile."""
        pool = await self._pool()
        connection = await stack.enter_async_context(pool.connection(timeout=RECONNECT_SECONDS))
        stack.enter_context(_hung_up_after(connection, answer_seconds))
        return connection

    async def _pool(self) -> "AsyncConnectionPool[Any]":
        loop = asyncio.get_running_loop()
        if self._room is None or self._room.loop is not loop or self._room.process != os.getpid():
            _leftovers.extend([self._room] if self._room is not None and self._room.pool is not None else [])
            self._room = _Room(os.getpid(), loop)
        room = self._room
        if room.pool is not None and len(room.brought_up) == len(self._components):
            return room.pool
        async with room.opening:
            if room.pool is None or len(room.brought_up) < len(self._components):
                await self._again_when_lost(lambda: self._migrate(room), OPENING_SECONDS)
            room.pool = room.pool or await self._open()
        return room.pool

    async def _migrate(self, room: _Room) -> None:
        from psycopg import AsyncConnection

        # Also when there is nothing to do: a pool tells only that nothing came in time, a connection of our own why.
        async with await AsyncConnection.connect(autocommit=True, **self._parameters) as connection:
            for component in self._components[len(room.brought_up) :]:
                await migrate(connection, component)
                room.brought_up.append(component)

    async def _open(self) -> "AsyncConnectionPool[Any]":
        from psycopg_pool import AsyncConnectionPool

        pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
            kwargs={**self._parameters, "autocommit": True},
            min_size=1,
            max_size=self._most_connections,
            timeout=PATIENCE_SECONDS,
            reconnect_timeout=RECONNECT_SECONDS,  # then it gives up, and the next who asks makes it try at once
            check=_check,  # one that broke while nobody used it is not handed out
            open=False,
        )
        await pool.open()
        return pool

    @property
    def _parameters(self) -> dict[str, Any]:
        return dict(self.address.parameters)


async def _check(connection: "AsyncConnection[Any]") -> None:
    from psycopg_pool import AsyncConnectionPool

    with _hung_up_after(connection, CHECK_SECONDS):
        await AsyncConnectionPool.check_connection(connection)


@contextmanager
def _hung_up_after(connection: "AsyncConnection[Any]", seconds: float | None) -> Generator[None]:
    """End a connection that takes longer than the block may.

    Where a balancer or a proxy lost the database and does not say so, TCP goes on acknowledging: nothing else ends the
    wait. Cancelling would not, because the driver then asks the server to cancel, and waits for its answer.
    """
    if seconds is None:
        yield
        return

    timer = asyncio.get_running_loop().call_later(seconds, _hang_up, connection)
    try:
        yield
    finally:
        timer.cancel()


def _hang_up(connection: "AsyncConnection[Any] | Connection[Any]") -> None:
    from psycopg import OperationalError

    with (
        suppress(OSError, OperationalError),  # it is closed by now
        socket.socket(fileno=os.dup(connection.fileno())) as wire,
    ):
        wire.shutdown(socket.SHUT_RDWR)
