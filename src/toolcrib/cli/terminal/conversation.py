"""The user's turns with an agent: a line, what happens, questions where a tool needs a yes, and Ctrl-C to stop it."""

import asyncio
import json
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

from toolcrib.agent import events
from toolcrib.agent.crib import Crib
from toolcrib.agent.runner import confirm, stream
from toolcrib.cli.output import Columns, note, print_error, say
from toolcrib.cli.terminal.view import render_arguments
from toolcrib.discovery.render import name_line
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.errors import StoreError, ToolcribError, did_you_mean, require
from toolcrib.memory.working import render_memory
from toolcrib.stores.record import SessionRecord
from toolcrib.stores.session import Session
from toolcrib.stores.store import Store

# What a user can ask the chat itself: lines that start with a slash. They change nothing but files.


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What a command can use."""

    session: Session
    toolbox: Toolbox
    record: Callable[[], Awaitable[SessionRecord]]  # all that is kept of the session
    report: Mapping[str, Any]  # of the last run; empty before the first


async def tools(talk: Talk, argument: str) -> None:
    """the tools that the model can call now"""
    active = [*talk.toolbox.surface, *(talk.toolbox.find(name) for name in talk.toolbox.active)]
    for tool in active:
        if tool is not None:
            say(name_line(tool))
    note(f"{len(talk.toolbox.active)} of {len(talk.toolbox.tools)} tools are active; others are found when needed")


async def memory(talk: Talk, argument: str) -> None:
    """what the session remembers"""
    lines = render_memory(talk.session.memory).splitlines()[1:-1]
    for line in lines:
        say(line)
    if not lines:
        note("nothing yet")


async def tokens(talk: Talk, argument: str) -> None:
    """what the last answer took, and what all tools loaded would have"""
    if not talk.report:
        note("nothing was asked yet")
        return
    table = Columns(("part", "tokens"))
    for part, count in talk.report["tokens"].items():
        table.add(part, f"{count:,}")
    table.show()
    steps, loaded = len(talk.report["steps"]), talk.report["all_tools_loaded"]
    note(
        f"type {talk.report['request_type']}, {steps} request{'' if steps == 1 else 's'}; tools took "
        f"{talk.report['tools_share']['tokens']:,}, all tools loaded would take {loaded['tokens']:,}"
        f"{'' if talk.report['exact'] else ' (estimates for this model)'}"
    )
    if talk.session.usage:
        used = ", ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in talk.session.usage.items())
        note(f"the session so far, as the provider counts: {used}")


def _number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"


async def search(talk: Talk, argument: str) -> None:
    """WORDS: which tools a request would find"""
    if not argument:
        note("say what for, such as: /search send an e-mail")
        return
    found = await talk.toolbox.search_async(argument)
    table = Columns(("name", "score", "why"))
    for hit in found.hits:
        table.add(hit.name, f"{hit.score:.3f}", hit.why)
    if found.hits:
        table.show()
    note(f"confidence {found.confidence:.2f}, {found.took_ms:.2f} ms{'' if found.hits else ': nothing fits'}")


async def export(talk: Talk, argument: str) -> None:
    """[FILE]: all of the session as JSON"""
    from toolcrib.stores.export import to_document  # late: loads pydantic

    text = json.dumps(to_document(await talk.record()), ensure_ascii=False, indent=2) + "\n"
    _write(Path(argument or f"{talk.session.id}.json"), text)


def _write(path: Path, text: str) -> None:
    file = path.expanduser()
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{str(file)!r} cannot be written: {error.strerror}.", hint="Name another file.") from error
    note(f"wrote {file}")


async def help(talk: Talk, argument: str) -> None:
    """this list"""
    table = Columns(("command", "shows"))
    for name, command in COMMANDS.items():
        words, _, about = (command.__doc__ or "").rpartition(": ")
        table.add(f"/{name} {words}".rstrip(), about)
    table.add("/quit", "leaves; so does Ctrl-D, and Ctrl-C twice")
    table.show()


Command = Callable[[Talk, str], Awaitable[None]]
COMMANDS: dict[str, Command] = {
    "tools": tools,
    "memory": memory,
    "tokens": tokens,
    "search": search,
    "export": export,
    "help": help,
}
LEAVE = frozenset({"/quit", "/exit", "/q"})
NAMES = [*(f"/{name}" for name in COMMANDS), "/quit"]


async def run_command(talk: Talk, line: str) -> None:
    """Run a command such as `/search mail`."""
    name, _, argument = line.removeprefix("/").partition(" ")
    command = COMMANDS.get(name.casefold())
    if command is None:
        note(f"there is no /{name}. {did_you_mean(f'/{name}', NAMES) or 'See /help.'}")
        return
    await command(talk, argument.strip())


# Where the user's lines come from: an editor with history on a terminal, plain lines from anywhere else.

PROMPT = "> "
# An answer to a question of ours. What else is said is no yes.
YES = frozenset({"y", "yes", "j", "ja", "t", "tak", "o", "oui", "s", "si", "sí", "sim"})


class Lines(Protocol):
    """The user's lines, one after another."""

    @property
    def typed(self) -> bool:
        """Whether a person sits at a terminal."""
        ...

    async def line(self, prompt: str = PROMPT) -> str:
        """The next line. `EOFError` at the end, `KeyboardInterrupt` for Ctrl-C."""
        ...


class PipedLines:
    """Lines of a file or of another program; prompts are not shown, because nobody would read them."""

    typed = False

    async def line(self, prompt: str = PROMPT) -> str:
        loop = asyncio.get_running_loop()
        read: asyncio.Future[str] = loop.create_future()

        def set_line(text: str) -> None:
            if not read.done():
                read.set_result(text)

        def wait() -> None:
            text = sys.stdin.readline()
            if not loop.is_closed():
                loop.call_soon_threadsafe(set_line, text)

        # A thread of its own, which dies with the program: one of a pool would keep it alive after Ctrl-C.
        Thread(target=wait, daemon=True).start()
        text = await read
        if not text:
            raise EOFError
        return text.rstrip("\n")


class TypedLines:
    """Lines with editing, a history that outlives the program (arrow up, Ctrl-R), and commands by Tab."""

    typed = True

    def __init__(self, history: Path, commands: Sequence[str]) -> None:
        require("agent", "A chat")
        from prompt_toolkit import PromptSession  # late: only a chat at a terminal needs it
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.history import FileHistory, InMemoryHistory

        kept = FileHistory(str(history)) if _is_ours(history) else InMemoryHistory()
        completer = WordCompleter(list(commands), sentence=True)
        self._session: PromptSession[str] = PromptSession(
            history=kept, completer=completer, complete_while_typing=False
        )
        # What is answered to a question is no line to come back to.
        self._questions: PromptSession[str] = PromptSession()

    async def line(self, prompt: str = PROMPT) -> str:
        session = self._session if prompt == PROMPT else self._questions
        try:
            return await session.prompt_async(prompt)
        except KeyboardInterrupt:
            if prompt == PROMPT and session.default_buffer.text:
                return ""  # Ctrl-C takes back what was typed, as in a shell
            raise


def input_lines(history: Path, commands: Sequence[str]) -> Lines:
    """The user's lines, typed or piped."""
    return TypedLines(history, commands) if sys.stdin.isatty() and sys.stdout.isatty() else PipedLines()


async def ask_yes_no(lines: Lines, question: str) -> bool | None:
    """Whether the user says yes; None when they say nothing at all."""
    try:
        return (await lines.line(f"{question} [y/N] ")).strip().casefold() in YES
    except (EOFError, KeyboardInterrupt):
        return None


def _is_ours(file: Path) -> bool:
    """Whether the history can be stored; a read-only folder does not prevent the chat."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)  # what people type is theirs
        return True
    except OSError:
        return False


class EventView(Protocol):
    """Shows what happens to the user."""

    def show(self, event: events.Event) -> None: ...

    def stopped(self) -> None:
        """The user stopped the run."""
        ...


class Turns:
    """One conversation, at a terminal or in a pipe."""

    def __init__(
        self, crib: Crib, store: Store, session: Session, audience: EventView, lines: Lines | None = None
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
        """Answer the user's lines until they leave."""
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
            call = f"{question.tool}({render_arguments(question.arguments)})"
            answer = None if self._lines is None else await ask_yes_no(self._lines, f"Call {call}?")
            if answer is None:
                left.add(question.id)
                note(f"waits for your yes: {call}")
            else:
                await self._run(confirm(self._session, question.id, answer, crib=self._crib))

    async def _run(self, run_events: AsyncGenerator[events.Event]) -> None:
        """Show what happens until it is over, or until Ctrl-C."""
        task = asyncio.create_task(self._follow(run_events))
        with _stopped_by_ctrl_c(task) as was_stopped:
            try:
                await task
            except asyncio.CancelledError:
                if not was_stopped():
                    raise
                self._interrupted = self.stopped = True
                self._audience.stopped()

    async def _follow(self, run_events: AsyncGenerator[events.Event]) -> None:
        self.failed = self.stopped = False
        async for event in run_events:
            if isinstance(event, events.Failed):
                self.failed = True
            elif isinstance(event, events.UsageEvent):
                self._report = event.report
            self._audience.show(event)

    async def _command(self, line: str) -> None:
        toolbox = self._crib.toolbox(self._session.toolbox)
        talk = Talk(session=self._session, toolbox=toolbox, record=self._record, report=self._report)
        try:
            await run_command(talk, line)
        except ToolcribError as error:
            print_error(str(error), error.hint)

    async def _record(self) -> SessionRecord:
        return await self._store.read(self._session.id)


@contextmanager
def _stopped_by_ctrl_c(task: "asyncio.Task[None]") -> Generator[Callable[[], bool]]:
    """Ctrl-C cancels the task; pressed again before that is done, it ends the program."""
    stopped = False
    loop = asyncio.get_running_loop()

    def stop(number: int, frame: object) -> None:
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True
        loop.call_soon_threadsafe(task.cancel)

    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield lambda: stopped
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: stopped
    finally:
        signal.signal(signal.SIGINT, before)
