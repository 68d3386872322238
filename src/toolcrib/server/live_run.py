"""A run that is under way: what it told so far, and all who listen.

Every event has a number, and numbers only grow. An event that the session's log keeps has a whole multiple of `STRIDE`:
its position there. Pieces of text are not kept, and stand in between. So a client that comes back with the last number
it saw gets the rest, from here while the run lasts, and later from the log, in which `answered` has the whole text.
"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from toolcrib.agent.events import Event, Text

STRIDE = 100_000


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event as clients get it."""

    number: int
    event: dict[str, Any]


def position_of(number: int) -> int:
    """Where in the log an event stands; of a piece of text, the one before it."""
    return number // STRIDE


class LiveRun:
    """One run of one session."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.over = False
        self.logged: list[dict[str, Any]] = []  # those that belong into the log
        self._told: list[Numbered] = []
        self._first = 0
        self._begun = asyncio.Event()
        self._piece = 0
        self._news = asyncio.Event()

    def begins_at(self, position: int) -> None:
        """Say where in the log its first event will stand."""
        self._first = position
        self._begun.set()

    async def first_number(self) -> int | None:
        """The number of its first event, once that is known; None when it ended before it began."""
        await self._begun.wait()
        return None if self.over and not self._told else self._first * STRIDE

    def tell(self, event: Event) -> None:
        """Something happened."""
        said = event.to_json()
        if isinstance(event, Text):
            self._piece += 1
        else:
            self.logged.append(said)
            self._piece = 0
        position = self._first + len(self.logged) - 1
        self._told.append(Numbered(position * STRIDE + self._piece, said))
        self._wake()

    def end(self) -> None:
        """Nothing more will happen."""
        self.over = True
        self._begun.set()
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def follow(self, after: int = -1, *, ping_seconds: float) -> AsyncGenerator[Numbered | None]:
        """What it told behind a number, and what it tells, until it is over; None after a silence."""
        at = 0
        while True:
            news = self._news
            while at < len(self._told):
                if self._told[at].number > after:
                    yield self._told[at]
                at += 1
            if self.over:
                return
            if news.is_set():
                continue
            try:
                async with asyncio.timeout(ping_seconds):
                    await news.wait()
            except TimeoutError:
                yield None
