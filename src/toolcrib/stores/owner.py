"""Who holds a session: a process, told apart from a later one with its number and from those of other machines."""

import os
import platform
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

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
        """Whether it has certainly ended. False also means: cannot be told from here."""
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
        said = (PROCESSES / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    fields = said.rpartition(")")[2].split()  # behind the program's name, which may hold anything
    return fields[0], fields[19]


@lru_cache(maxsize=1)
def _host() -> str:
    try:
        boot = (PROCESSES / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        room = os.readlink(PROCESSES / "self/ns/pid")
    except OSError:
        boot = room = ""
    return f"{platform.node()}|{boot}|{room}"
