"""Notifications of changed sessions: from the replica that writes to those that follow.

They are sent after the write, separately: PostgreSQL commits transactions that notify one after the other.
That cut the commits per second of 16 writers to a tenth. So notifications may get lost; followers also poll.
"""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Self

from toolcrib.errors import StoreError
from toolcrib.postgres.database import PostgresDatabase

# Listening on one connection of its own, which is opened again whenever it breaks.

CHECK_SECONDS = 20.0  # after so much silence, whether the connection still stands
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0

logger = logging.getLogger(__name__)
OnNotification = Callable[[str | None], None]


class Listener:
    """Calls `on_notification` with the payload of every notification on a channel, between `start` and `close`."""

    def __init__(self, database: PostgresDatabase, channel: str, on_notification: OnNotification) -> None:
        self._database = database
        self._channel = channel
        self._on_notification = on_notification
        self._task: asyncio.Task[None] | None = None
        self._is_connected = False

    async def start(self) -> None:
        """Begin to listen; returns at once. A new connection is reported as `None`: some may have been missed."""
        if self._task is None:
            self._task = asyncio.create_task(self._listen(), name=f"listens to {self._channel}")

    async def close(self) -> None:
        """Stop listening."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def _listen(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                await self._listen_on_one_connection()
            except StoreError as error:
                if self._is_connected:
                    pause = FIRST_PAUSE_SECONDS
                self._is_connected = False
                logger.warning("Not listening to %s for %.1f s: %s", self._channel, pause, error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _listen_on_one_connection(self) -> None:
        from psycopg import sql

        async with self._database.own_connection() as connection:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
            self._on_notification(None)
            self._is_connected = True
            while True:
                async for one in connection.notifies(timeout=CHECK_SECONDS):
                    self._on_notification(one.payload)
                await connection.execute("SELECT 1")  # raises when the other end is gone


CHANNEL = "toolcrib_sessions"
PAUSE_SECONDS = 0.02  # between two messages; the first of a burst goes at once

logger = logging.getLogger(__name__)
Key = tuple[str, str]  # tenant and session


class SessionNotifications:
    """Sends and receives the notifications of one database in one event loop."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._begin(None)

    def _begin(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop = loop
        self._to_tell: set[Key] = set()
        self._sending: asyncio.Task[None] | None = None
        self._waiting: dict[Key, set[asyncio.Event]] = defaultdict(set)
        self._listener: Listener | None = None

    def publish(self, tenant: str, session: str) -> None:
        """Announce soon that a session changed; changes in the meantime are sent together."""
        self._in_this_loop()
        self._to_tell.add((tenant, session))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._tell(), name="tells of sessions")

    @asynccontextmanager
    async def subscribe(self, tenant: str, session: str) -> AsyncGenerator[asyncio.Event]:
        """An event that is set whenever the session may have changed."""
        self._in_this_loop()
        if self._listener is None:
            self._listener = Listener(self._database, CHANNEL, self._on_notification)
            await self._listener.start()
        news = asyncio.Event()
        self._waiting[tenant, session].add(news)
        try:
            yield news
        finally:
            self._waiting[tenant, session].discard(news)
            if not self._waiting[tenant, session]:
                del self._waiting[tenant, session]

    async def close(self) -> None:
        """Send what is left to send, and stop listening."""
        self._in_this_loop()
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.close()
        if self._sending is not None:
            await asyncio.wait({self._sending})

    def _in_this_loop(self) -> None:
        """Start again in a new event loop: tasks of a loop that ended no longer run."""
        if self._loop is not (loop := asyncio.get_running_loop()):
            self._begin(loop)

    async def _tell(self) -> None:
        while self._to_tell:
            keys, self._to_tell = self._to_tell, set()
            try:
                async with self._database.connection() as connection:
                    await connection.execute(
                        "SELECT pg_notify(%s, news) FROM unnest(%s::text[]) AS told (news)",
                        (CHANNEL, [json.dumps(key) for key in keys]),
                    )
            except StoreError as error:  # they look by themselves, a little later
                logger.warning("Other replicas were not told of %d changed sessions: %s", len(keys), error)
            await asyncio.sleep(PAUSE_SECONDS)

    def _on_notification(self, payload: str | None) -> None:
        if payload is None:  # a new connection: any of them may have changed
            receivers = [news for waiting in self._waiting.values() for news in waiting]
        else:
            tenant, session = json.loads(payload)
            receivers = list(self._waiting.get((tenant, session), ()))
        for news in receivers:
            news.set()
