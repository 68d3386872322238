"""Time that passes only when a test says so."""

import asyncio

from tests.support import PATIENCE


class ManualTime:
    """A clock and a sleep that belong together."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._somebody_sleeps = asyncio.Event()

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + seconds, waiting))
        self._somebody_sleeps.set()
        await waiting

    def sleeps_for(self, seconds: float) -> bool:
        """Whether somebody sleeps for exactly so long from now."""
        return any(until - self.now == seconds and not waiting.done() for until, waiting in self._sleepers)

    async def until_somebody_sleeps(self) -> float:
        """Wait until somebody does, and tell for how long."""
        while not (lengths := [until - self.now for until, waiting in self._sleepers if not waiting.done()]):
            self._somebody_sleeps.clear()
            async with asyncio.timeout(PATIENCE):
                await self._somebody_sleeps.wait()
        return min(lengths)

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake those who slept long enough."""
        self.now += seconds
        for until, waiting in self._sleepers:
            if until <= self.now and not waiting.done():
                waiting.set_result(None)
        self._sleepers = [(until, waiting) for until, waiting in self._sleepers if not waiting.done()]
