"""The Monty sandbox: one worker process for one program, and its states as plain values.

All that speaks Monty is here. Its asyncio client can abort the interpreter when that exits, so this uses the other one,
in a thread of its own. A worker serves one program and is ended with it: nothing is shared between programs, and a
program that cannot be stopped in any other way is stopped by ending its worker.
"""

import asyncio
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from toolcrib.discovery.program.limits import CodeLimits
from toolcrib.discovery.program.types import ERRORS
from toolcrib.errors import MissingExtraError

if TYPE_CHECKING:
    import pydantic_monty

WORKDIR = "/work"  # where a program sees the host's folder, if it may
FAILED, DENIED, UNKNOWN = "RuntimeError", "PermissionError", "NameError"  # what a call can raise

_PREAMBLE = "".join(f"{name} = {error}\n" for name, error in ERRORS.items())
_DIAGNOSTIC = re.compile(r"^main\.py:(\d+):\d+: (error|warning)\[([\w-]+)\] (.*)$", re.MULTILINE)
_MOST_DIAGNOSTICS = 5
_START_SECONDS = 20.0
_TURN_GRACE_SECONDS = 2.0
# Said by the type check, and not sure: a program that would run must not be refused.
_UNSURE = re.compile(r"\bNone\b|found `(?:str|int|float|[^`]* \| [^`]*)`|Unknown")


@dataclass(frozen=True, slots=True)
class Called:
    """The program called a function that is not its own."""

    id: int
    name: str
    positional: tuple[Any, ...]
    named: Mapping[str, Any]
    start: int  # of the call in the program, in bytes


@dataclass(frozen=True, slots=True)
class Named:
    """The program uses a name that is not its own as a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """The program waits for calls, and can do nothing without the result of one."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The program ended, and this is what its last expression gave."""

    value: Any


@dataclass(frozen=True, slots=True)
class Fault:
    """The program was refused, raised, or was stopped."""

    kind: str  # "types", "syntax", "raised", "limit", "crashed", "snapshot"
    message: str
    line: int = 0


State: TypeAlias = Called | Named | Blocked | Finished | Fault
Answer: TypeAlias = Mapping[str, Any]  # {"return_value": ...}, or {"exc_type": ..., "message": ...}
Result = TypeVar("Result")


def returned(value: object) -> Answer:
    """The answer of a call that gave a value."""
    return {"return_value": value}


def raised(kind: str, message: str) -> Answer:
    """The answer of a call that raises in the program."""
    return {"exc_type": kind, "message": message}


def monty_version() -> str:
    """The version of the sandbox; a snapshot of another one is not loaded."""
    return _monty().__version__


def _monty() -> Any:
    try:
        import pydantic_monty
    except ModuleNotFoundError as error:
        raise MissingExtraError("Running programs", "code") from error
    return pydantic_monty


class Sandbox:
    """One program in a worker of its own: `async with Sandbox(limits) as sandbox`, then `start` or `load`."""

    def __init__(self, limits: CodeLimits, printed: Callable[[str], None]) -> None:
        self._limits = limits
        self._printed = printed
        self._monty = _monty()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="toolcrib-program")
        self._pool: pydantic_monty.Monty | None = None
        self._session: Any = None
        self._mounts: list[Any] = []
        self._worker: int | None = None
        self._shot: Any = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.shield(asyncio.wrap_future(self._thread.submit(self._close)))
        self._thread.shutdown(wait=False)

    async def start(self, code: str, stubs: str | None) -> State:
        """Check and start a program; without `stubs` it is not checked. It stands at its first call, or is over."""

        def work() -> Any:
            self._open(stubs)
            self._session.feed_run(_PREAMBLE, skip_type_check=True)
            given = {"print_callback": self._print, "mount": self._mounts or None}
            try:
                return self._without_host(self._session.feed_start(code, **given))  # an import asks, too
            except self._monty.MontyTypingError as error:
                found = sure_faults(error.display())
                if found is not None:
                    return found
                return self._session.feed_start(code, skip_type_check=True, **given)

        return await self._turn(work)

    async def load(self, snapshot: bytes) -> State:
        """A program that was paused, as it was then."""

        def work() -> Any:
            self._open(None)
            given = {"print_callback": self._print, "mount": self._mounts or None}
            try:
                return self._session.load_snapshot(snapshot, **given)
            except (self._monty.MontyError, ValueError) as error:
                return Fault("snapshot", str(error).splitlines()[0])

        return await self._turn(work)

    async def wait(self) -> State:
        """Let the program go on from the call at which it stands; its result comes later, by `answer`."""
        return await self._turn(lambda: self._shot.resume({"future": ...}))

    async def refuse(self, answer: Answer) -> State:
        """Let the call at which the program stands raise at once."""
        return await self._turn(lambda: self._shot.resume(answer))

    async def answer(self, answers: Mapping[int, Answer]) -> State:
        """Give results of calls that the program waits for."""
        return await self._turn(lambda: self._shot.resume(dict(answers)))

    async def name(self, value: object = ..., *, function: bool = False) -> State:
        """Give the name at which the program stands a value, or nothing; or let it be a function to call."""
        if function:
            return await self._turn(lambda: self._shot.resume(value=_function(self._shot.variable_name)))
        if value is ...:
            return await self._turn(lambda: self._shot.resume())
        return await self._turn(lambda: self._shot.resume(value=value))

    def snapshot(self) -> bytes:
        """The program as it stands."""
        return self._shot.dump()

    # Turns: each runs in the thread

    async def _turn(self, work: Callable[[], Any]) -> State:
        future = self._thread.submit(self._run, work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._kill()
            raise

    def _run(self, work: Callable[[], Any]) -> State:
        monty = self._monty
        try:
            self._shot = self._without_host(work())
        except monty.MontySyntaxError as error:
            return Fault("syntax", error.display("msg"), _line(error))
        except monty.MontyRuntimeError as error:
            return _fault(error)
        except (monty.MontyCrashedError, monty.MontyShutdown) as error:
            message = str(error).splitlines()[0]
            return Fault("limit" if getattr(error, "timed_out", False) else "crashed", message)
        except monty.MontyError as error:
            return Fault("raised", str(error).splitlines()[0])
        return self._state()

    def _without_host(self, shot: Any) -> Any:
        """The next state in which the program asks for no file and no module: the mounts answer, or it is refused."""
        while getattr(shot, "is_os_function", False):
            shot = shot.resume_auto()
        return shot

    def _state(self) -> State:
        monty, shot = self._monty, self._shot
        if isinstance(shot, Fault):
            return shot
        if isinstance(shot, monty.MontyComplete):
            return Finished(shot.output)
        if isinstance(shot, monty.FutureSnapshot):
            return Blocked(tuple(shot.pending_call_ids))
        if isinstance(shot, monty.NameLookupSnapshot):
            return Named(shot.variable_name)
        return Called(shot.call_id, str(shot.function_name), shot.args, shot.kwargs, shot.position.start)

    def _open(self, stubs: str | None) -> None:
        limits, monty = self._limits, self._monty
        # What it computes is limited by its own clock; this only ends a worker that does not answer.
        seconds = limits.seconds + _START_SECONDS
        self._pool = pool = monty.Monty(
            min_processes=1,
            max_processes=1,
            request_timeout=seconds,
            feed_duration_limit_grace=_TURN_GRACE_SECONDS,
        ).__enter__()
        self._session = pool.checkout(
            limits={
                "max_feed_duration_secs": limits.seconds,
                "max_memory": limits.memory_mb * 1_000_000,
                "max_suspensions": limits.suspensions,
                "max_recursion_depth": 200,
                "max_total_sleep_secs": 0.0,
            },
            type_check=stubs is not None,
            type_check_stubs=stubs,
            type_check_format="concise",
            os_policy={"sleep": "zero"},
        ).__enter__()
        self._worker = self._session.worker_pid
        if limits.workdir is not None:
            mode = "read-write" if limits.writes else "read-only"
            self._mounts = [monty.MountDir(host_path=limits.workdir, virtual_path=WORKDIR, mode=mode)]

    def _close(self) -> None:
        self._shot = None
        for held in (self._session, self._pool):
            if held is not None:
                with suppress(self._monty.MontyError, RuntimeError):
                    held.__exit__(None, None, None)
        for mount in self._mounts:
            mount.close()

    def _kill(self) -> None:
        """End the worker: the turn that waits for it ends at once."""
        if self._worker is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self._worker, getattr(signal, "SIGKILL", signal.SIGTERM))

    def _print(self, stream: str, text: str) -> None:
        self._printed(text)


def _function(name: str) -> Callable[..., None]:
    """A stand-in: when the program calls it, it stops there as at any call."""

    def stand_in() -> None: ...

    stand_in.__name__ = name
    return stand_in


def sure_faults(diagnostics: str) -> Fault | None:
    """What the type check found that is surely wrong; None if nothing is."""
    found = [
        (int(line), rule, message.strip())
        for line, kind, rule, message in _DIAGNOSTIC.findall(diagnostics)
        if (kind == "error" or rule == "unused-awaitable")
        and not rule.startswith("possibly")
        and not _UNSURE.search(message)
    ]
    if not found:
        return None
    lines = [f"line {line}: {message}{_ADVICE.get(rule, '')}" for line, rule, message in found[:_MOST_DIAGNOSTICS]]
    if more := len(found) - len(lines):
        lines.append(f"and {more} more")
    return Fault("syntax" if found[0][1] == "invalid-syntax" else "types", "\n".join(lines), found[0][0])


_ADVICE = {
    "unused-awaitable": " Write `await` before the call.",
    "not-subscriptable": " Is `await` missing before the call?",
    "unresolved-reference": " If it is a tool, find it with tool_search first.",
    "unresolved-import": " The sandbox has only parts of Python's own library.",
}
_LIMITS = ("TimeoutError", "MemoryError", "RecursionError")


def _fault(error: Any) -> Fault:
    text = error.display("type-msg")
    kind, _, message = text.partition(": ")
    line = _line(error)
    stopped = kind in _LIMITS and ("limit" in message or "recursion" in message)
    if stopped or message.startswith("suspension limit"):
        return Fault("limit", text, line)
    if message.startswith("protocol violation"):
        return Fault("crashed", message, line)
    return Fault("raised", text, line)


def _line(error: Any) -> int:
    """The line of the program at which an error happened; 0 if that is not known."""
    frames: Sequence[Any] = error.traceback()
    return next((frame.line for frame in reversed(frames) if frame.filename != "<python-input-0>"), 0)
