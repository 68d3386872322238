"""Who may write which session: one row a session, kept alive by a heartbeat, and checked in every write.

A holder that was killed is noticed at once on its own machine, and elsewhere when its lease runs out. A holder that was
only asleep finds at its next write that its token is gone, and writes nothing.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from toolcrib.errors import SessionBusyError, SessionLostError, StoreError
from toolcrib.stores.owner import Owner
from toolcrib.stores.record import new_id
from toolcrib.stores.sqlite_file import SqliteFile
from toolcrib.stores.sqlite_rows import microseconds

LASTS = timedelta(seconds=30)
BEATS_PER_LEASE = 3

logger = logging.getLogger(__name__)


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


def take(connection: sqlite3.Connection, lease: Lease, now: datetime) -> None:
    """Take the lease, or refuse when somebody else has it."""
    refuse_busy(connection, lease.tenant, lease.session, now)
    us = Owner.here()
    connection.execute(
        "INSERT OR REPLACE INTO leases (tenant, session, token, host, pid, started, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*lease.row, us.host, us.pid, us.started, microseconds(now + LASTS)),
    )


def refuse_busy(connection: sqlite3.Connection, tenant: str, session: str, now: datetime) -> None:
    """Refuse to touch a session that somebody has open."""
    row = connection.execute(
        "SELECT host, pid, started, expires_at FROM leases WHERE tenant = ? AND session = ?", (tenant, session)
    ).fetchone()
    if row is not None and row[3] > microseconds(now):
        holder = Owner(*row[:3])
        if not holder.is_gone():
            raise SessionBusyError(session, str(holder))


def renew(connection: sqlite3.Connection, lease: Lease, now: datetime) -> None:
    """Keep the lease for another while; refused when it is no longer ours."""
    renewed = connection.execute(
        "UPDATE leases SET expires_at = ? WHERE tenant = ? AND session = ? AND token = ?",
        (microseconds(now + LASTS), *lease.row),
    )
    if not renewed.rowcount:
        raise SessionLostError(lease.session)


def release(connection: sqlite3.Connection, lease: Lease) -> None:
    """Give the lease back; nothing happens when it is not ours."""
    connection.execute("DELETE FROM leases WHERE tenant = ? AND session = ? AND token = ?", lease.row)


class Heartbeat:
    """Renews the leases held here, from a thread: a tool that blocks the event loop must not cost the session."""

    def __init__(
        self, file: SqliteFile, clock: Callable[[], datetime], *, every: timedelta = LASTS / BEATS_PER_LEASE
    ) -> None:
        self._file = file
        self._clock = clock
        self._every = every
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._held: set[Lease] = set()
        self._changing = threading.Lock()
        self._ended = threading.Event()

    def hold(self, lease: Lease) -> None:
        """Keep this lease alive from now on."""
        if self._process != os.getpid():
            self._begin()  # after a fork: the thread, and what it holds, stayed with the parent
        with self._changing:
            self._held.add(lease)
            if len(self._held) == 1:
                self._ended = threading.Event()
                threading.Thread(target=self._beat, args=(self._ended,), name="toolcrib-leases", daemon=True).start()

    def let_go(self, lease: Lease) -> None:
        """Stop keeping it alive; the thread ends with the last one."""
        with self._changing:
            self._held.discard(lease)
            if not self._held:
                self._ended.set()

    def _beat(self, ended: threading.Event) -> None:
        while not ended.wait(self._every.total_seconds()):
            with self._changing:
                held = tuple(self._held)
            for lease in held:
                self._renew(lease)

    def _renew(self, lease: Lease) -> None:
        try:
            self._file.write_soon(lambda connection: renew(connection, lease, self._clock())).result()
        except SessionLostError:
            logger.warning("The session %r was taken over by another process.", lease.session)
            self.let_go(lease)
        except (StoreError, RuntimeError) as error:  # a full disk, or a store that is just being closed
            logger.warning("The lease of the session %r could not be renewed: %s", lease.session, error)
