"""`toolcrib chat` at a real terminal: a process of its own behind a pty, as a person has it."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.wire import Call, Slow, Turn, WireServer
from benchmarks.wire.script import Answer
from benchmarks.wire.server import Recorded
from tests.support import PATIENCE

pytestmark = pytest.mark.process

OFFICE = str(Path(__file__).parents[2] / "examples" / "office")
# The process takes the terminal for its own, so that Ctrl-C becomes a signal.
START = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from toolcrib.cli.main import main
sys.exit(main())
"""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[=>]")


class Person:
    """Somebody at a terminal: types, and reads until something appears."""

    def __init__(self, *arguments: str, environment: dict[str, str]) -> None:
        self._keys, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, (40, 100))
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, *arguments],
            stdin=terminal, stdout=terminal, stderr=terminal, env=os.environ | environment, start_new_session=True,
        )  # fmt: skip
        os.close(terminal)
        self._unread = ""

    def reads(self, wanted: str) -> str:
        """Everything up to the words wanted."""
        deadline = time.monotonic() + PATIENCE
        while wanted not in self._unread:
            if not select.select([self._keys], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"{wanted!r} did not appear after {self._unread!r}")
            self._unread += ESCAPES.sub("", os.read(self._keys, 65_536).decode("utf-8", "replace"))
        before, found, self._unread = self._unread.partition(wanted)
        return before + found

    def types(self, text: str) -> None:
        os.write(self._keys, text.encode())

    def leaves(self) -> int:
        self.types("\x04")
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self._keys)


def script(request: Recorded) -> Answer:
    said = request.json["messages"]
    last = max(at for at, message in enumerate(said) if message["role"] == "user")
    if "count" in said[last]["content"]:
        return Slow(Turn("One two three"), after=2)
    if "Ada" in said[last]["content"] and len(said) == last + 1:
        return Turn(Call("find_colleague", {"name": "Ada"}))
    return Turn("Here I am.")


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    with WireServer(script) as server:
        environment = {
            "OPENAI_API_KEY": "key",
            "OPENAI_BASE_URL": server.url,
            "TOOLCRIB_MODEL": "openai-chat:gpt-5.4",
            "TOOLCRIB_STORE": str(tmp_path / "sessions.db"),
            "XDG_DATA_HOME": str(tmp_path),
            "TERM": "xterm",
            "PROMPT_TOOLKIT_NO_CPR": "1",  # nobody answers where the cursor is
        }
        here = Person("chat", "--from", OFFICE, "--session", "desk", environment=environment)
        yield here
        here.close()


def test_a_talk_with_cards_and_ctrl_c(person: Person) -> None:
    assert "20 tools, openai:gpt-5.4, session desk" in person.reads("Ctrl-D to leave")
    person.reads(">")
    person.types("Where is Ada?\r")
    card = person.reads("Here I am.")
    assert "find_colleague ok" in card
    assert "ada@office.example" in card
    assert "pydantic-ai v" not in card  # its banner
    person.reads(">")
    person.types("Please count\r")
    person.reads("One")
    person.types("\x03")
    person.reads("stopped")
    person.reads(">")
    person.types("Are you there?\r")
    person.reads("Here I am.")
    person.reads(">")
    assert person.leaves() == 0
    person.reads("go on with: toolcrib chat --session desk")
