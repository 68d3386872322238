"""Hearing what others notify: one connection of its own, made again whenever it breaks.

PostgreSQL keeps no notification for those who were away. So whoever listens is told each time a connection was made
(`None`), and then looks into the tables for what it missed.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Self

from toolcrib.errors import StoreError
from toolcrib.postgres.database import PostgresDatabase

CHECK_SECONDS = 20.0  # after so much silence, whether the connection still stands
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0

logger = logging.getLogger(__name__)
Heard = Callable[[str | None], None]


class Listener:
    """Calls `heard` with the payload of every notification on a channel, between `start` and `close`."""

    def __init__(self, database: PostgresDatabase, channel: str, heard: Heard) -> None:
        self._database = database
        self._channel = channel
        self._heard = heard
        self._task: asyncio.Task[None] | None = None
        self._stands = asyncio.Event()

    async def start(self) -> None:
        """Begin to listen; returns at once. What is notified before a connection stands is told by its `None`."""
        if self._task is None:
            self._task = asyncio.create_task(self._listen(), name=f"listens to {self._channel}")

    async def wait_until_connected(self) -> None:
        """Until a connection stands."""
        await self._stands.wait()

    async def close(self) -> None:
        """Listen no more."""
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
                if self._stands.is_set():
                    pause = FIRST_PAUSE_SECONDS
                self._stands.clear()
                logger.warning("Not listening to %s for %.1f s: %s", self._channel, pause, error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _listen_on_one_connection(self) -> None:
        from psycopg import sql

        async with self._database.own_connection() as connection:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
            self._heard(None)
            self._stands.set()
            while True:
                async for one in connection.notifies(timeout=CHECK_SECONDS):
                    self._heard(one.payload)
                await connection.execute("SELECT 1")  # raises when the other end is gone
