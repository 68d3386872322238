"""Runs one command: it may flood, fork, hang or ignore signals without harm to the caller."""

import os
import selectors
import shutil
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from secrets import token_hex
from threading import Event
from time import monotonic
from typing import Literal, TypeAlias

from toolcrib.errors import ToolRefusedError

# Ending a command with all it started: its process group, and processes outside of it that carry its mark.

MARK = "TOOLCRIB_SHELL_RUN"  # set in a command's environment, which child processes inherit

_PROCESSES = Path("/proc")
_MOST_SECONDS = 2.0  # for processes that start others faster than we can look


def signal_all(group: int, mark: str, number: signal.Signals) -> int:
    """Send a signal to all of them; returns how many were found outside of the group. The group's leader must not have
    been reaped: its pid could belong to another process by then.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    found = list(marked(mark))
    for process in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)
    return len(found)


def kill_all(group: int, mark: str) -> None:
    """Kill them, and those that were started meanwhile."""
    deadline = monotonic() + _MOST_SECONDS
    while signal_all(group, mark, signal.SIGKILL) and monotonic() < deadline:
        pass


def marked(mark: str) -> Iterator[int]:
    """The processes that carry the mark. Only Linux shows environments; elsewhere the group has to be enough."""
    wanted = f"{MARK}={mark}".encode()
    for folder in _PROCESSES.glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
        except OSError:  # ended, or of another user
            continue


Ending: TypeAlias = Literal["exited", "timed_out", "flooded", "cancelled"]

_PIECE = 65_536
_TICK_SECONDS = 0.05
_LAST_WORDS_SECONDS = 0.5  # for output that is still in the pipe when the command has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a command."""

    seconds: float
    grace_seconds: float  # between the request to end and the kill
    shown_bytes: int  # of output that is kept: half from the start, half from the end
    flood_bytes: int  # of output after which it is ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The end of a command."""

    ending: Ending
    exit_code: int | None  # negative: the signal that ended it
    seconds: float
    output: bytes = field(repr=False)
    left_out_bytes: int


class Job:
    """Runs a command once. `run` blocks; `cancel` may come from another thread."""

    def __init__(
        self, argv: Sequence[str], *, folder: Path, environment: Mapping[str, str], stdin: str, limits: Limits
    ) -> None:
        self._argv, self._folder, self._stdin, self._limits = argv, folder, stdin, limits
        self._mark = token_hex(16)
        self._environment = {**environment, MARK: self._mark}
        self._cancelled = Event()

    def cancel(self) -> None:
        """End it soon."""
        self._cancelled.set()

    def run(self) -> Finished:
        """Run it to its end, or until it reaches a limit; when this returns, nothing of it runs any more."""
        began = monotonic()
        output = _Output(self._limits.shown_bytes)
        process = self._started()
        assert process.stdout is not None
        try:
            with process.stdout, selectors.DefaultSelector() as selector:
                os.set_blocking(process.stdout.fileno(), False)
                selector.register(process.stdout, selectors.EVENT_READ)
                ending = self._watch(process, selector, output, began)
                if ending != "exited":
                    self._ask_to_end(process, selector, output)
                # Also after success: processes in the background would run on unseen, and keep the pipe open.
                kill_all(process.pid, self._mark)
                _drain(selector, output, monotonic() + _LAST_WORDS_SECONDS)
        finally:
            kill_all(process.pid, self._mark)
            process.wait()
        return Finished(
            ending=ending,
            exit_code=process.returncode,
            seconds=monotonic() - began,
            output=output.shown(),
            left_out_bytes=output.left_out_bytes,
        )

    def _started(self) -> subprocess.Popen[bytes]:
        with tempfile.TemporaryFile() as given:  # a file, not a pipe: nobody has to feed it
            given.write(self._stdin.encode())
            given.seek(0)
            try:
                return subprocess.Popen(
                    self._argv,
                    cwd=self._folder,
                    env=self._environment,
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # a group of its own, and no terminal to write to
                    bufsize=0,
                )
            except FileNotFoundError:
                raise ToolRefusedError(
                    f"There is no program {self._argv[0]!r}.", hint="Check the name, or run a line instead of a list."
                ) from None
            except (OSError, ValueError) as error:
                raise ToolRefusedError(f"The command could not be started: {error}.", hint="Check it.") from None

    def _watch(
        self, process: subprocess.Popen[bytes], selector: selectors.BaseSelector, output: "_Output", began: float
    ) -> Ending:
        while True:
            if _has_ended(process):
                return "exited"
            if self._cancelled.is_set():
                return "cancelled"
            if monotonic() - began > self._limits.seconds:
                return "timed_out"
            if output.total_bytes > self._limits.flood_bytes:
                return "flooded"
            _read(selector, output)

    def _ask_to_end(
        self, process: subprocess.Popen[bytes], selector: selectors.BaseSelector, output: "_Output"
    ) -> None:
        """Let it end by itself for a moment. Its output is read meanwhile: a full pipe would keep it from ending."""
        signal_all(process.pid, self._mark, signal.SIGTERM)
        deadline = monotonic() + self._limits.grace_seconds
        while not _has_ended(process) and monotonic() < deadline:
            _read(selector, output)


class _Output:
    """The output of a command: its first and its last part, and how much is left out between."""

    def __init__(self, most_bytes: int) -> None:
        self._half = max(1, most_bytes // 2)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.total_bytes = 0

    def add(self, piece: bytes) -> None:
        self.total_bytes += len(piece)
        room = self._half - len(self._head)
        self._head += piece[:room]
        rest = piece[room:] if room < len(piece) else b""
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._half:
            self._tail_bytes -= len(self._tail.popleft())

    @property
    def left_out_bytes(self) -> int:
        return max(0, self.total_bytes - 2 * self._half)

    def shown(self) -> bytes:
        tail = b"".join(self._tail)[-self._half :]
        gap = f"\n[... {self.left_out_bytes:,} bytes left out ...]\n".encode() if self.left_out_bytes else b""
        return bytes(self._head) + gap + tail


def _read(selector: selectors.BaseSelector, output: _Output) -> None:
    """Read the available output; wait a moment when there is none."""
    for key, _ in selector.select(_TICK_SECONDS):
        piece = os.read(key.fd, _PIECE)
        if piece:
            output.add(piece)
        else:  # all writers have ended
            selector.unregister(key.fileobj)


def _drain(selector: selectors.BaseSelector, output: _Output, deadline: float) -> None:
    while monotonic() < deadline and selector.get_map():
        _read(selector, output)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended. It is not reaped yet: until then its pid, and that of its group, are not used again."""
    if not hasattr(os, "waitid"):  # pragma: no cover  # macOS before Python 3.13
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


# Bubblewrap around a command, where it is installed and works: it then writes to the work folder only.

# Below the home folder: secrets that no command in a work folder needs.
_SECRETS = (
    *(".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".config/gcloud", ".config/gh", ".password-store"),
    *(".netrc", ".git-credentials", ".npmrc", ".pypirc"),
)
_PROBE_SECONDS = 10.0


def find_bubblewrap() -> str | None:
    """The program, if there is one and the system lets it work; in many containers it does not."""
    program = shutil.which("bwrap")
    return program if program and _works(program) else None


def wrapped(argv: Sequence[str], *, program: str, folder: Path, network: bool, home: Path | None = None) -> list[str]:
    """The command that runs `argv` in the sandbox."""
    home = home or Path.home()
    command = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    command += ["--bind", str(folder), str(folder), "--chdir", str(folder)]
    for secret in (home / name for name in _SECRETS):
        if secret.is_dir() and not folder.is_relative_to(secret):
            command += ["--tmpfs", str(secret)]
        elif secret.is_file():
            command += ["--ro-bind", "/dev/null", str(secret)]
    command += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]
    command += [] if network else ["--unshare-net"]
    return [*command, "--", *argv]


@cache
def _works(program: str) -> bool:
    tried = wrapped(["true"], program=program, folder=Path("/tmp"), network=False)
    try:
        return subprocess.run(tried, capture_output=True, timeout=_PROBE_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
