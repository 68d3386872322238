"""Ending a command with all it started: its process group, and what left the group but still carries its mark."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

MARK = "TOOLCRIB_SHELL_RUN"  # set in a command's environment; what it starts inherits it

_PROCESSES = Path("/proc")
_MOST_SECONDS = 2.0  # for processes that start others faster than we can look


def signal_all(group: int, mark: str, number: signal.Signals) -> int:
    """Send a signal to all of them; gives how many were found outside of the group.

    The group's leader must not have been waited for: its number could belong to somebody else by then.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    found = list(marked(mark))
    for process in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)
    return len(found)


def kill_all(group: int, mark: str) -> None:
    """End them now, and those that were started while we looked."""
    deadline = monotonic() + _MOST_SECONDS
    while signal_all(group, mark, signal.SIGKILL) and monotonic() < deadline:
        pass


def marked(mark: str) -> Iterator[int]:
    """The processes that carry the mark. Only Linux tells; elsewhere there are none, and the group has to do."""
    wanted = f"{MARK}={mark}".encode()
    for folder in _PROCESSES.glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
        except OSError:  # gone, or somebody else's
            continue
