"""Calls that wait for a yes in a terminal, for clients that cannot ask their user: `toolcrib gateway confirm`.

A running gateway and the command share one small SQLite file that only its owner can read. The code that allows a call
is shown in the terminal and nowhere else, so no model has it. A yes is for one caller, one tool as it is defined now
and exactly these arguments; it counts once, and both the question and the yes expire.
"""

import os
import secrets
import sqlite3
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolcrib.errors import GatewayError
from toolcrib.sources.source import Clock

MOST_WAITING = 50  # of one gateway: nobody reads more, and a flood must not hide the call that matters
_CODE_BYTES = 3  # six characters to type; only somebody at the terminal can try, and sees each call whole
_BUSY_SECONDS = 5.0
_SCHEMA = """
create table if not exists calls (
    code text primary key, gateway text, label text, caller text, tool text, arguments text, reason text,
    binding text, expires_at real, agreed integer, unique (gateway, caller, binding)
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCall:
    """One call that waits, as the terminal shows it."""

    code: str
    gateway: str  # what the gateway serves, for people
    caller: str
    tool: str
    arguments: str  # all of them, as JSON, what cannot be seen written out
    reason: str
    seconds_left: int


class WaitingCalls:
    """The file of one user. Gateways add calls and take answers; `toolcrib gateway confirm` answers."""

    def __init__(self, path: Path, *, label: str = "", seconds: float = 600.0, clock: Clock = time.time) -> None:
        self.path = path
        self._label = label
        self._seconds = seconds
        self._clock = clock  # of the wall, because two processes compare it
        self._gateway = secrets.token_hex(8)  # this gateway: another one's calls are not ours to take

    # The gateway's side

    def ask(self, *, caller: str, tool: str, arguments: str, reason: str, binding: str) -> bool:
        """Let a call wait; asked again, it is the same question. False: too many wait already."""
        with self._open() as file:
            (waiting,) = file.execute(
                "select count(*) from calls where gateway = ? and not (caller = ? and binding = ?)",
                (self._gateway, caller, binding),
            ).fetchone()
            if waiting >= MOST_WAITING:
                return False
            code = secrets.token_hex(_CODE_BYTES)
            file.execute(
                "insert into calls values (?, ?, ?, ?, ?, ?, ?, ?, ?, null) "
                "on conflict (gateway, caller, binding) do nothing",
                (
                    code,
                    self._gateway,
                    self._label,
                    caller,
                    tool,
                    arguments,
                    reason,
                    binding,
                    self._clock() + self._seconds,
                ),
            )
            return True

    def take(self, *, caller: str, binding: str) -> bool | None:
        """The answer about a call, which is used up by this; None if there is none yet."""
        with self._open() as file:
            row = file.execute(
                "delete from calls where gateway = ? and caller = ? and binding = ? and agreed is not null "
                "returning agreed",
                (self._gateway, caller, binding),
            ).fetchone()
        return None if row is None else bool(row[0])

    def close(self) -> None:
        """Forget the calls of this gateway: nobody else can make them."""
        if self.path.exists():
            with self._open() as file:
                file.execute("delete from calls where gateway = ?", (self._gateway,))

    # The terminal's side

    def waiting(self) -> list[WaitingCall]:
        """The calls without an answer, of all gateways of this user, oldest first."""
        if not self.path.exists():
            return []
        with self._open() as file:
            rows = file.execute(
                "select code, label, caller, tool, arguments, reason, expires_at from calls "
                "where agreed is null order by expires_at, code"
            ).fetchall()
        now = self._clock()
        return [
            WaitingCall(
                code=code,
                gateway=label,
                caller=caller,
                tool=tool,
                arguments=arguments,
                reason=reason,
                seconds_left=round(expires_at - now),
            )
            for code, label, caller, tool, arguments, reason, expires_at in rows
        ]

    def answer(self, code: str, *, agreed: bool) -> bool:
        """Answer a call; False if it waits no more. The time of the question goes on for the answer."""
        with self._open() as file:
            query = "update calls set agreed = ? where code = ? and agreed is null"
            return file.execute(query, (agreed, code)).rowcount == 1

    # The file

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        """The file in one transaction, without what is too old."""
        try:
            self._secure()
            file = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                file.execute(_SCHEMA)
                file.execute("begin immediate")
                file.execute("delete from calls where expires_at < ?", (self._clock(),))
                yield file
                file.execute("commit")
            finally:
                file.close()
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            hint = "Remove the file; calls that wait are asked about again."
            raise GatewayError(f"{self.path}: confirmations cannot be kept: {reason}.", hint=hint) from error

    def _secure(self) -> None:
        """Make the file for its owner alone; refuse one that others could write their own yes into."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
        found = self.path.stat()
        if os.name == "posix" and (stat.S_IMODE(found.st_mode) & 0o077 or found.st_uid != os.getuid()):
            raise GatewayError(
                f"{self.path}: others could read or write it, so no confirmation in it counts.", hint="Remove it."
            )
