"""The user's turns with an agent: a line, what happens, questions where a tool needs a yes, and Ctrl-C to stop it."""

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from toolcrib.agent import events
from toolcrib.agent.crib import Crib
from toolcrib.agent.runner import confirm, stream
from toolcrib.cli.chat_commands import LEAVE, Talk, obey
from toolcrib.cli.chat_input import Lines, agreed
from toolcrib.cli.chat_view import said
from toolcrib.cli.output import complain, note
from toolcrib.errors import ToolcribError
from toolcrib.stores.record import SessionRecord
from toolcrib.stores.session import Session
from toolcrib.stores.store import Store


class Audience(Protocol):
    """Who sees what happens."""

    def show(self, event: events.Event) -> None: ...

    def stopped(self) -> None:
        """The user stopped the run."""
        ...


class Turns:
    """One conversation at one door."""

    def __init__(
        self, crib: Crib, store: Store, session: Session, audience: Audience, lines: Lines | None = None
    ) -> None:
        self._crib = crib
        self._store = store
        self._session = session
        self._audience = audience
        self._lines = lines  # None: nobody can be asked
        self._report: Mapping[str, Any] = {}
        self._interrupted = False  # by Ctrl-C, and nothing was said since
        self.failed = self.stopped = False  # the last turn: without an answer, or by the user

    @property
    def waiting(self) -> bool:
        """Whether a call waits for the user's yes."""
        return bool(self._session.confirmations)

    async def talk(self) -> None:
        """Take the user's lines until they leave."""
        assert self._lines is not None
        await self._ask_what_waits()
        while (line := await self._next_line()) is not None:
            if line.casefold() in LEAVE:
                return
            if line.startswith("/"):
                await self._command(line)
            elif line:
                await self.turn(line)

    async def turn(self, text: str) -> None:
        """Answer the user's words, and ask them what has to be asked."""
        await self._run(stream(self._session, text, crib=self._crib))
        await self._ask_what_waits()

    async def _next_line(self) -> str | None:
        """What the user says next; None when they leave."""
        assert self._lines is not None
        try:
            line = (await self._lines.line()).strip()
        except EOFError:
            return None
        except KeyboardInterrupt:
            if self._interrupted:
                return None
            self._interrupted = True
            note("Ctrl-C once more, or /quit, leaves")
            return ""
        self._interrupted = False
        return line

    async def _ask_what_waits(self) -> None:
        """Ask about every call that waits; what the agent does after a yes may wait for another one."""
        left: set[str] = set()
        while question := next((one for one in self._session.confirmations if one.id not in left), None):
            told = f"{question.tool}({said(question.arguments)})"
            answer = None if self._lines is None else await agreed(self._lines, f"Call {told}?")
            if answer is None:
                left.add(question.id)
                note(f"waits for your yes: {told}")
            else:
                await self._run(confirm(self._session, question.id, answer, crib=self._crib))

    async def _run(self, happening: AsyncGenerator[events.Event]) -> None:
        """Show what happens until it is over, or until Ctrl-C."""
        task = asyncio.create_task(self._follow(happening))
        with _stopped_by_ctrl_c(task) as was_stopped:
            try:
                await task
            except asyncio.CancelledError:
                if not was_stopped():
                    raise
                self._interrupted = self.stopped = True
                self._audience.stopped()

    async def _follow(self, happening: AsyncGenerator[events.Event]) -> None:
        self.failed = self.stopped = False
        async for event in happening:
            if isinstance(event, events.Failed):
                self.failed = True
            elif isinstance(event, events.UsageEvent):
                self._report = event.report
            self._audience.show(event)

    async def _command(self, line: str) -> None:
        toolbox = self._crib.toolbox(self._session.toolbox)
        talk = Talk(session=self._session, toolbox=toolbox, record=self._record, report=self._report)
        try:
            await obey(talk, line)
        except ToolcribError as error:
            complain(str(error), error.hint)

    async def _record(self) -> SessionRecord:
        return await self._store.read(self._session.id)


@contextmanager
def _stopped_by_ctrl_c(task: "asyncio.Task[None]") -> Generator[Callable[[], bool]]:
    """Ctrl-C cancels the task; pressed again while that takes its time, it ends the program as ever."""
    stopped = False
    loop = asyncio.get_running_loop()

    def stop(number: int, frame: object) -> None:
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True
        loop.call_soon_threadsafe(task.cancel)

    if threading.current_thread() is not threading.main_thread():  # only that one hears signals
        yield lambda: stopped
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: stopped
    finally:
        signal.signal(signal.SIGINT, before)
