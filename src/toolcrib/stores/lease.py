"""Who may write which session: a lease, kept alive by a heartbeat, and checked in every write.

A holder that was killed is noticed at once on its own machine, and elsewhere when its lease runs out. A holder that was
only asleep finds at its next write that its token is gone, and writes nothing. Each store knows how leases are kept.
"""

import asyncio
import logging
import os
import platform
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from toolcrib.errors import SessionBusyError, StoreError
from toolcrib.stores.record import new_id

LEASE_DURATION = timedelta(seconds=30)
AHEAD = 2 * LEASE_DURATION  # a lease that lasts longer than this was written under a clock that was ahead
BEATS_PER_LEASE = 3
BEAT_AGAIN_SECONDS = 1.0  # after a beat that failed: a database that comes back must not find that all leases ran out
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
    def new(cls, tenant: str, session: str) -> "Lease":
        """A new lease, which is not acquired yet."""
        return cls(tenant, session, new_id())

    @property
    def row(self) -> tuple[str, str, str]:
        return self.tenant, self.session, self.token


async def acquire(take: Callable[[], Awaitable[Result]], wait_seconds: float) -> Result:
    """The result of `take` once nobody else has the session; after `wait_seconds`, its refusal."""
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return await take()
        except SessionBusyError:
            if time.monotonic() >= deadline:
                raise
        await asyncio.sleep(ASK_AGAIN_SECONDS)


# Tokens of leases that this process is done with but could not give back, because a disk was full: nobody holds them.
unreleased: set[str] = set()

Renew = Callable[[tuple[Lease, ...]], Iterable[Lease]]


class Heartbeat:
    """Renews the leases held here, from a thread: a tool that blocks the event loop must not cost the session."""

    def __init__(self, renew: Renew, *, every: timedelta = LEASE_DURATION / BEATS_PER_LEASE) -> None:
        """`renew` renews leases, and returns those that another process has taken over."""
        self._renew = renew
        self._every = every
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._held: dict[Lease, Callable[[], object] | None] = {}
        self._changing = threading.Lock()
        self._ended = threading.Event()

    def add(self, lease: Lease, lost: Callable[[], object] | None = None) -> None:
        """Renew this lease from now on. `lost` is called, in another thread, if another process takes it over."""
        if self._process != os.getpid():
            self._begin()  # after a fork: the thread, and what it holds, stayed with the parent
        with self._changing:
            self._held[lease] = lost
            if len(self._held) == 1:
                self._ended = threading.Event()
                threading.Thread(target=self._beat, args=(self._ended,), name="toolcrib-leases", daemon=True).start()

    def remove(self, lease: Lease) -> bool:
        """Stop renewing it; the thread ends with the last lease. Returns whether it was held."""
        with self._changing:
            was_held = lease in self._held
            self._held.pop(lease, None)
            if not self._held:
                self._ended.set()
        return was_held

    def _beat(self, ended: threading.Event) -> None:
        pause = self._every.total_seconds()
        while not ended.wait(pause):
            with self._changing:
                held = tuple(self._held)
            try:
                lost = self._renew(held)
            except (StoreError, RuntimeError) as error:  # a full disk, or a store that is just being closed
                logger.warning("The leases of %s could not be renewed: %s", _named(held), error)
                pause = min(pause, BEAT_AGAIN_SECONDS)
                continue
            pause = self._every.total_seconds()
            for lease in lost:
                on_lost = self._held.get(lease)
                if self.remove(lease):  # if not, it was given back while we asked, and nobody took it
                    logger.warning("The session %r was taken over by another process.", lease.session)
                    if on_lost is not None:
                        on_lost()


def _named(held: tuple[Lease, ...]) -> str:
    first = ", ".join(repr(lease.session) for lease in held[:3])
    return first if len(held) <= 3 else f"{first} and {len(held) - 3} more sessions"


# Who holds a session: a process, told apart from a later one with its number and from those of other machines.

PROCESSES = Path("/proc")  # Linux; elsewhere it is not there

_DEAD = frozenset("ZX")  # a zombie was killed and waits for its parent to notice


@dataclass(frozen=True, slots=True)
class Owner:
    """A process."""

    host: str  # machine, its last start, and the room in which process numbers are given (a container has its own)
    pid: int
    started: str  # a mark of the moment it started; empty where the system does not tell

    @classmethod
    def here(cls) -> "Owner":
        """This process."""
        pid = os.getpid()
        return cls(_host(), pid, _state_and_start(pid)[1])

    def is_gone(self) -> bool:
        """Whether it has certainly ended. False may also mean that this process cannot tell."""
        if self.host != _host():
            return False
        state, started = _state_and_start(self.pid)
        if state:
            return state in _DEAD or started != self.started
        if sys.platform == "win32":
            return False  # there, `os.kill` would kill, whatever the signal
        try:
            os.kill(self.pid, 0)  # only asks; also where other users' processes are hidden from /proc
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host.partition('|')[0]}"


def _state_and_start(pid: int) -> tuple[str, str]:
    """The letter of the process's state and when it started, in ticks; empty where it cannot be read."""
    try:
        stat = (PROCESSES / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    fields = stat.rpartition(")")[2].split()  # behind the program's name, which may hold anything
    return fields[0], fields[19]


@lru_cache(maxsize=1)
def _host() -> str:
    try:
        boot = (PROCESSES / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        room = os.readlink(PROCESSES / "self/ns/pid")
    except OSError:
        boot = room = ""
    return f"{platform.node()}|{boot}|{room}"
