"""Where the user's lines come from: an editor with history on a terminal, plain lines from anywhere else."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Protocol

from toolcrib.errors import require

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
    """Lines of a file or of another program; what is asked is not shown, for nobody is there to read it."""

    typed = False

    async def line(self, prompt: str = PROMPT) -> str:
        loop = asyncio.get_running_loop()
        read: asyncio.Future[str] = loop.create_future()

        def tell(text: str) -> None:
            if not read.done():
                read.set_result(text)

        def wait() -> None:
            text = sys.stdin.readline()
            if not loop.is_closed():
                loop.call_soon_threadsafe(tell, text)

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


def lines_here(history: Path, commands: Sequence[str]) -> Lines:
    """The user's lines as this process gets them."""
    return TypedLines(history, commands) if sys.stdin.isatty() and sys.stdout.isatty() else PipedLines()


async def agreed(lines: Lines, question: str) -> bool | None:
    """Whether the user says yes; None when they say nothing at all."""
    try:
        return (await lines.line(f"{question} [y/N] ")).strip().casefold() in YES
    except (EOFError, KeyboardInterrupt):
        return None


def _is_ours(file: Path) -> bool:
    """Whether the history can be kept; a folder that may not be written to is no reason not to talk."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)  # what people type is theirs
        return True
    except OSError:
        return False
