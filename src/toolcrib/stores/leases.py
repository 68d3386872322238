"""Who may write which session: a lease, kept alive by a heartbeat, and checked in every write.

A holder that was killed is noticed at once on its own machine, and elsewhere when its lease runs out. A holder that was
only asleep finds at its next write that its token is gone, and writes nothing. Each store knows how leases are kept.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from toolcrib.errors import SessionBusyError, StoreError
from toolcrib.stores.record import new_id

LASTS = timedelta(seconds=30)
BEATS_PER_LEASE = 3
ASK_AGAIN_SECONDS = 0.05

logger = logging.getLogger(__name__)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write one session; `token` tells this opening from every other."""

    tenant: str
    session: str
    token: str

    @classmethod
    def wish(cls, tenant: str, session: str) -> "Lease":
        """A lease that is yet to be taken."""
        return cls(tenant, session, new_id())

    @property
    def row(self) -> tuple[str, str, str]:
        return self.tenant, self.session, self.token


async def when_free(take: Callable[[], Awaitable[Result]], wait_seconds: float) -> Result:
    """What `take` gives once nobody else has the session; after `wait_seconds` its refusal."""
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return await take()
        except SessionBusyError:
            if time.monotonic() >= deadline:
                raise
        await asyncio.sleep(ASK_AGAIN_SECONDS)


Renew = Callable[[tuple[Lease, ...]], Iterable[Lease]]


class Heartbeat:
    """Renews the leases held here, from a thread: a tool that blocks the event loop must not cost the session."""

    def __init__(self, renew: Renew, *, every: timedelta = LASTS / BEATS_PER_LEASE) -> None:
        """Say how leases are renewed: `renew` gives those that are somebody else's by now."""
        self._renew = renew
        self._every = every
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._held: dict[Lease, Callable[[], object] | None] = {}
        self._changing = threading.Lock()
        self._ended = threading.Event()

    def hold(self, lease: Lease, lost: Callable[[], object] | None = None) -> None:
        """Keep this lease alive from now on; `lost` is called, in another thread, when it was taken over."""
        if self._process != os.getpid():
            self._begin()  # after a fork: the thread, and what it holds, stayed with the parent
        with self._changing:
            self._held[lease] = lost
            if len(self._held) == 1:
                self._ended = threading.Event()
                threading.Thread(target=self._beat, args=(self._ended,), name="toolcrib-leases", daemon=True).start()

    def let_go(self, lease: Lease) -> bool:
        """Stop keeping it alive; the thread ends with the last one. Gives whether it was held."""
        with self._changing:
            was_held = lease in self._held
            self._held.pop(lease, None)
            if not self._held:
                self._ended.set()
        return was_held

    def _beat(self, ended: threading.Event) -> None:
        while not ended.wait(self._every.total_seconds()):
            with self._changing:
                held = tuple(self._held)
            try:
                lost = self._renew(held)
            except (StoreError, RuntimeError) as error:  # a full disk, or a store that is just being closed
                logger.warning("The leases of %s could not be renewed: %s", _named(held), error)
                continue
            for lease in lost:
                told = self._held.get(lease)
                if self.let_go(lease):  # if not, it was given back while we asked, and nobody took it
                    logger.warning("The session %r was taken over by another process.", lease.session)
                    if told is not None:
                        told()


def _named(held: tuple[Lease, ...]) -> str:
    first = ", ".join(repr(lease.session) for lease in held[:3])
    return first if len(held) <= 3 else f"{first} and {len(held) - 3} more sessions"
