"""How a run looks at a terminal, and where typed lines come from."""

import asyncio
import io
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from tests.support import PATIENCE
from tests.support.calls import always
from toolcrib.agent import events
from toolcrib.agent.crib import Crib
from toolcrib.catalog.catalog import Catalog
from toolcrib.cli.main import main
from toolcrib.cli.terminal.conversation import PROMPT, PipedLines, Turns, TypedLines, ask_yes_no, input_lines
from toolcrib.cli.terminal.view import ChatView, EventLines, render_arguments, shortened
from toolcrib.errors import MissingExtraError
from toolcrib.stores.sqlite.store import SqliteStore

STARTED = events.RunStarted(session="s", text="Hello", model="m")
USAGE = events.UsageEvent(requests=1, input_tokens=1, output_tokens=1, cost=None, seconds=0.1)
CALL = events.ToolStarted(call_id="1", name="get_page", arguments={"page": "home"})
RESULT = events.ToolFinished(call_id="1", name="get_page", text="the page\x1b[2J", failed=False, took_ms=12.3)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at_terminal(monkeypatch: pytest.MonkeyPatch, *happened: events.Event) -> tuple[str, str]:
    """What somebody sees on stdout and on stderr."""
    monkeypatch.setenv("TERM", "dumb")  # no cursor is moved, so that the text is what is seen
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    show(*happened)
    return out.getvalue(), err.getvalue()


def show(*happened: events.Event) -> None:
    view = ChatView()
    for event in happened:
        view.show(event)
    view.stopped()


def test_words_are_streamed_and_the_answer_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [events.Text(delta=delta) for delta in ("One ", "two\x1b[2J", "")]
    out, _ = at_terminal(monkeypatch, STARTED, *pieces, events.Answered(text="One two\x1b[2J"), USAGE)
    assert out == "One two�[2J\n"


def test_an_answer_that_was_not_streamed_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = at_terminal(monkeypatch, STARTED, events.Answered(text="All at once.\n"), USAGE)
    assert out == "All at once.\n"


def test_a_tool_has_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = events.Text(delta="Let me see. ")
    out, err = at_terminal(monkeypatch, STARTED, talk, CALL, RESULT, events.Answered(text="Here it is."), USAGE)
    assert out == "Let me see. \nHere it is.\n"
    assert "─ get_page ok 12 ms ─" in err
    assert 'page="home"' in err
    assert "the page�[2J" in err


def test_discovery_warnings_and_failures_are_told_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = at_terminal(
        monkeypatch,
        STARTED,
        events.ToolDiscoveryStart(query="mail"),
        events.ToolDiscoveryResult(query="mail", tools=(), confidence=0.1, took_ms=1.0),
        events.ToolsEnabled(names=()),
        events.Warning(text="slow"),
        events.ConfirmationRequired(id="1", tool="t", arguments={}, reason="", expires_at=datetime.now(UTC)),
        events.ToolFinished(call_id="2", name="t", text="no", failed=True, took_ms=1),
        events.Failed(message="No answer.", hint="Ask again."),
        USAGE,
    )
    assert out == ""
    assert "searched 'mail': no tool fits (1 ms)" in err
    assert "warning: slow" in err
    assert "─ t failed 1 ms ─" in err
    assert err.endswith("error: No answer.\nhint: Ask again.\nstopped\n")


def test_a_call_that_waits_for_a_yes_has_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = events.ToolFinished(
        call_id="1", name="get_page", text="requires_confirmation: ...", failed=False, took_ms=1
    )
    assert at_terminal(monkeypatch, STARTED, CALL, waits, USAGE) == ("", "stopped\n")


def test_a_card_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    long = events.ToolFinished(call_id="1", name="get_page", text="word " * 40, failed=False, took_ms=1)
    _, err = at_terminal(monkeypatch, STARTED, CALL, long)
    assert max(map(len, err.splitlines())) == 80  # what a terminal has that does not say


def test_into_a_pipe_goes_the_answer_alone(capsys: pytest.CaptureFixture[str]) -> None:
    show(STARTED, events.Text(delta="Let me see."), CALL, RESULT, events.Answered(text="Here."), USAGE)
    out, err = capsys.readouterr()
    assert out == "Here.\n"
    assert err == 'get_page(page="home") ok, 12 ms: the page�[2J\nstopped\n'


def test_long_things_are_shortened() -> None:
    assert render_arguments({"text": "x" * 400}).endswith("xxx...")
    assert render_arguments({"name": "Ąda", "n": 1}) == 'name="Ąda", n=1'
    assert shortened("a\n" * 20) == "a\na\na\na\na\na..."
    assert shortened("word " * 200).endswith("...")
    assert shortened("short\n") == "short"


# Lines


async def typed(lines: TypedLines, text: str, keys: PipeInput, prompt: str = PROMPT) -> str:
    keys.send_text(text)
    async with asyncio.timeout(PATIENCE):
        return await lines.line(prompt)


async def test_typed_lines_have_a_history_that_stays(tmp_path: Path) -> None:
    history = tmp_path / "deep" / "history"
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        lines = TypedLines(history, ["/tools"])
        assert await typed(lines, "Hello\n", keys) == "Hello"
        assert await typed(lines, "y\n", keys, "Really? ") == "y"
        with pytest.raises(KeyboardInterrupt):
            await typed(lines, "\x03", keys)
        assert await typed(lines, "half a li\x03", keys) == ""
        with pytest.raises(EOFError):
            await typed(lines, "\x04", keys)
        assert await typed(TypedLines(history, []), "\x1b[A\x1b[A\n", keys) == "Hello"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "+y" not in history.read_text("utf-8")


async def test_a_history_that_cannot_be_kept_is_no_reason_not_to_talk(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        assert await typed(TypedLines(tmp_path / "file" / "history", []), "Hello\n", keys) == "Hello"


async def test_at_a_terminal_lines_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(input_lines(tmp_path / "history", []), PipedLines)
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        assert input_lines(tmp_path / "history", []).typed


class Script:
    """Lines that a person types; an exception is a key such as Ctrl-C."""

    typed = True

    def __init__(self, *said: str | type[BaseException]) -> None:
        self._said = list(said)
        self.prompts: list[str] = []

    async def line(self, prompt: str = PROMPT) -> str:
        self.prompts.append(prompt)
        said = self._said.pop(0) if self._said else EOFError
        if isinstance(said, str):
            return said
        raise said


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ([KeyboardInterrupt, KeyboardInterrupt, "never"], 2),
        ([KeyboardInterrupt, "/help", KeyboardInterrupt, KeyboardInterrupt, "never"], 4),
        (["/QUIT", "never"], 1),
        ([EOFError, "never"], 1),
    ],
    ids=["twice Ctrl-C", "a line between", "/quit", "Ctrl-D"],
)
async def test_a_person_leaves_by(said: Sequence[str | type[BaseException]], asked: int) -> None:
    lines = Script(*said)
    async with SqliteStore(None) as store, store.open() as session:
        await Turns(Crib(Catalog()), store, session, EventLines(), lines).talk()
    assert lines.prompts == [PROMPT] * asked


@pytest.mark.parametrize(
    ("said", "yes"), [("Y", True), (" tak ", True), ("", False), ("yes but", False), (EOFError, None)]
)
async def test_only_a_yes_is_a_yes(said: str | type[BaseException], yes: bool | None) -> None:
    lines = Script(said)
    assert await ask_yes_no(lines, "Delete it?") is yes
    assert lines.prompts == ["Delete it? [y/N] "]


def test_a_person_is_greeted_and_told_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = Script("who are you?", "/quit")
    monkeypatch.setattr("toolcrib.cli.terminal.conversation.input_lines", always(lines))
    monkeypatch.setenv("TOOLCRIB_STORE", str(tmp_path / "sessions.db"))
    office = str(Path(__file__).parents[2] / "examples" / "office")
    assert main(["chat", "--from", office, "--model", "offline", "--session", "desk"]) == 0
    out, err = capsys.readouterr()
    assert "20 tools, offline: rules, no language model, session desk; /help" in err
    assert err.endswith("go on with: toolcrib chat --session desk\n")
    assert out


def test_without_the_extra_a_chat_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    assert main(["chat", "--from", str(tmp_path), "--message", "hello"]) == 1
    assert "pip install 'toolcrib[agent]'" in capsys.readouterr().err
    with pytest.raises(MissingExtraError):
        TypedLines(tmp_path / "history", [])


async def test_a_turn_outside_the_main_thread_hears_no_signals() -> None:
    async def talk() -> bool:
        async with SqliteStore(None) as store, store.open() as session:
            turns = Turns(Crib(Catalog()), store, session, EventLines())
            await turns.turn("Hello")
            return turns.failed or turns.waiting

    assert not await asyncio.to_thread(asyncio.run, talk())
