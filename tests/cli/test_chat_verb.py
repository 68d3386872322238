"""`toolcrib chat`, as a user or a program meets it; the model is a scripted provider over real HTTP."""

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmarks.wire import Call, Refuse, Slow, Turn, WireServer
from benchmarks.wire.script import Answer
from benchmarks.wire.server import Recorded
from toolcrib.cli.main import main

pytestmark = pytest.mark.process

OFFICE = str(Path(__file__).parents[2] / "examples" / "office")
SEARCH = Turn(Call("tool_search", {"query": "find a colleague"}))
FIND = Turn("Let me see. ", Call("find_colleague", {"name": "Ada"}))
WIPE = Turn(Call("wipe_laptop", {"serial_number": "X1"}))
Script = Sequence[Answer] | Callable[[Recorded], Answer]


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOOLCRIB_STORE", str(tmp_path / "sessions.db"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in ("TOOLCRIB_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Chat with a scripted model: the exit code, stdout and stderr."""

    def talk(script: Script, *arguments: str, said: str = "") -> tuple[int, str, str]:
        with WireServer(script) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
            monkeypatch.setattr(sys, "stdin", io.StringIO(said))
            code = main(["chat", "--from", OFFICE, "--model", "openai-chat:gpt-5.4", *arguments])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return talk


Talk = Callable[..., tuple[int, str, str]]


def test_one_message_gets_one_answer_on_stdout(chat: Talk) -> None:
    code, out, err = chat([SEARCH, FIND, Turn("Ada is in design.")], "-m", "Where is Ada?")
    assert (code, out) == (0, "Ada is in design.\n")
    searched, called = err.splitlines()
    assert searched.startswith("searched 'find a colleague': find_colleague")
    assert called.startswith('find_colleague(name="Ada") ok, ')
    assert "Ada Nowak" in called


def test_events_are_lines_of_json(chat: Talk) -> None:
    code, out, err = chat([SEARCH, Turn("Done.")], "-m", "Hello", "--json")
    events = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [event["type"] for event in events] == [
        "run_started",
        "tool_discovery_start",
        "tool_discovery_result",
        "tools_enabled",
        "text",
        "answered",
        "usage",
    ]


def test_lines_on_stdin_are_turns_of_one_conversation(chat: Talk) -> None:
    code, out, _ = chat([Turn("Hi."), Turn("Bye.")], said="Hello\n\n  \nThat is all\n/quit\nnever said\n")
    assert (code, out) == (0, "Hi.\nBye.\n")


def test_a_session_is_gone_on_with_by_its_name(chat: Talk, capsys: pytest.CaptureFixture[str]) -> None:
    chat([Turn("Hello Ada.")], "-m", "I am Ada", "--session", "ada")

    def count(request: Recorded) -> Turn:
        return Turn(f"{len(request.json['messages'])} messages")

    code, out, _ = chat(count, "--session", "ada", "-m", "Hm")
    assert (code, out) == (0, "4 messages\n")  # the prompt, two of before, and this one
    assert main(["sessions", "list"]) == 0
    assert "ada" in capsys.readouterr().out


def test_a_chat_in_which_nothing_was_said_leaves_no_session(chat: Talk, capsys: pytest.CaptureFixture[str]) -> None:
    assert chat([], said="/help\n")[0] == 0
    main(["sessions", "list"])
    assert capsys.readouterr().err.startswith("0 sessions")


# What needs a yes


def test_a_yes_on_the_next_line_lets_a_risky_call_through(chat: Talk) -> None:
    script = [WIPE, Turn("Shall I?"), Turn("It is erased."), Turn("Welcome.")]
    code, out, err = chat(script, said="Wipe X1\ny\nThanks\n")
    assert (code, out) == (0, "Shall I?\nIt is erased.\nWelcome.\n")
    assert "X1 will be erased" in err


def test_any_other_line_is_a_no(chat: Talk) -> None:
    code, out, err = chat([WIPE, Turn("Shall I?"), Turn("Then not.")], said="Wipe X1\nwait\n")
    assert (code, out) == (0, "Shall I?\nThen not.\n")
    assert "X1 will be erased" not in err


def test_without_an_answer_it_waits_for_the_next_chat(chat: Talk) -> None:
    code, out, err = chat([WIPE, Turn("Shall I?")], "--session", "s", said="Wipe X1\n")
    assert (code, out) == (2, "Shall I?\n")
    assert 'waits for your yes: wipe_laptop(serial_number="X1")' in err
    assert "go on with: toolcrib chat --session s" in err
    code, out, _ = chat([Turn("It is erased.")], "--session", "s", said="yes\n")
    assert (code, out) == (0, "It is erased.\n")


def test_one_message_cannot_be_asked_back(chat: Talk) -> None:
    code, out, err = chat([WIPE, Turn("Shall I?")], "-m", "Wipe X1", said="y\n")
    assert (code, out) == (2, "Shall I?\n")
    assert "waits for your yes" in err


# Commands


def test_commands_look_into_the_conversation(chat: Talk, own_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own_store)
    commands = (
        "/tokens\n/memory\nWhere is Ada?\n/tools\n/memory\n/tokens\n/search book a room\n/search\n/search zzzz qqqq\n"
    )
    code, out, err = chat(
        [SEARCH, FIND, Turn("In design.")], "--session", "s", said=f"{commands}/export\n/export a.json\n"
    )
    assert code == 0
    assert "tool_search: Find tools for a task" in out
    assert "find_colleague: Look up a colleague's team" in out
    assert "- person ada " in out or "ada" in out
    assert "definitions" in out
    assert "find_free_room" in out
    for said in ("nothing was asked yet", "nothing yet", "all tools loaded would take", "say what for", "nothing fits"):
        assert said in err
    assert {path.name for path in own_store.glob("*.json")} == {"s.json", "a.json"}
    assert json.loads((own_store / "a.json").read_text("utf-8"))["id"] == "s"


def test_a_command_that_is_not_there_and_one_that_fails(chat: Talk) -> None:
    code, out, err = chat([], said="/tool\n/xyzzy\n/export /no/such/folder/a.json\n/help\n")
    assert code == 0
    assert "there is no /tool. Did you mean '/tools'?" in err
    assert "there is no /xyzzy. See /help." in err
    assert "error: '/no/such/folder/a.json' cannot be written: No such file or directory." in err
    assert [line.split()[0] for line in out.splitlines()] == [
        "command", "/tools", "/memory", "/tokens", "/search", "/export", "/help", "/quit",
    ]  # fmt: skip


# What goes wrong


def test_a_failure_has_a_clear_word_and_an_exit_code(chat: Talk) -> None:
    code, out, err = chat([Refuse(401, message="Bad key sk-secret-key")], "-m", "Hello")
    assert (code, out) == (4, "")
    assert err.startswith("error: The key for openai:gpt-5.4 was refused (401).\nhint: ")
    assert "sk-secret-key" not in err


def test_a_tool_that_fails_is_a_card_and_no_traceback(chat: Talk) -> None:
    script = [Turn(Call("ticket_status", {"ticket": "IT-9"})), Turn("There is none.")]
    _, out, err = chat(script, "-m", "How is IT-9?")
    assert out == "There is none.\n"
    assert "Traceback" not in err
    assert err.startswith('ticket_status(ticket="IT-9") failed, ')


def test_a_model_that_cannot_be_used_is_said_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["chat", "--from", OFFICE, "--model", "openai:gpt-5.4", "-m", "Hello"]) == 3
    told = "error: The model 'openai:gpt-5.4' cannot be used: OPENAI_API_KEY is not set.\n"
    assert capsys.readouterr().err.startswith(told)
    assert main(["chat", "--from", OFFICE, "--model", "nosuch", "-m", "Hello"]) == 1
    assert "Name a provider and a model" in capsys.readouterr().err
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert main(["chat", "--from", OFFICE, "--json"]) == 1
    assert "A chat at a terminal is no JSON." in capsys.readouterr().err


def ctrl_c(turn: Turn) -> Answer:
    """Somebody presses Ctrl-C when the request is there; the reply never comes."""
    os.kill(os.getpid(), signal.SIGINT)
    return Slow(turn)


def test_ctrl_c_stops_the_run_and_not_the_program(chat: Talk) -> None:
    def script(request: Recorded) -> Answer:
        return ctrl_c(Turn("never")) if request.number == 0 else Turn("Here I am.")

    before = signal.getsignal(signal.SIGINT)
    code, out, err = chat(script, said="Count to a million\nAre you there?\n")
    assert (code, out) == (0, "Here I am.\n")
    assert err.startswith("stopped\n")
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_is_told_to_programs_too(chat: Talk) -> None:

    def stop(request: Recorded) -> Answer:
        return ctrl_c(Turn("never"))

    code, out, _ = chat(stop, "-m", "Count", "--json")
    assert code == 130
    assert json.loads(out.splitlines()[-1]) == {"type": "failed", "message": "Stopped by the user.", "hint": ""}


@pytest.mark.parametrize("surface", ["search", "browse", "domains"])
def test_the_surface_is_what_the_model_sees_first(chat: Talk, surface: str) -> None:
    seen: list[str] = []

    def script(request: Recorded) -> Answer:
        seen.extend(entry["function"]["name"] for entry in request.json["tools"])
        return Turn("Hi.")

    chat(script, "--surface", surface, "-m", "Hello")
    first = {"search": "tool_search", "browse": "list_categories", "domains": "discover_"}[surface]
    assert any(name.startswith(first) for name in seen)
