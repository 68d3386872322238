"""`toolcrib run`: talk, tasks, checks, and exit codes."""

import io
import json
import sys
from pathlib import Path

import pytest

from toolcrib.cli.main import main

TOOLS = """
from toolcrib import Catalog
catalog = Catalog()

@catalog.tool(category="greetings", phrases=["greet somebody", "say hello"])
def greet(name: str) -> str:
    '''Greet somebody by name.'''
    return f"Hello, {name}!"

@catalog.tool(category="pages", phrases=["delete a page"], risk="destructive")
def delete_page(slug: str) -> str:
    '''Delete a page.'''
    return f"{slug} is deleted"
"""
APP = """\
app: {app_id: bot, name: The Bot}
runtime: {mode: MODE, session_log: logs}
agents: [{id: main}]
tools: {python: run_verb_tools.py}
"""
DELETE = 'delete a page with slug "old"'


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOOLCRIB_STORE", str(tmp_path / "sessions.db"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    sys.modules.pop("run_verb_tools", None)
    (tmp_path / "run_verb_tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "app.yaml").write_text(APP.replace("MODE", "conversation"), encoding="utf-8")
    return tmp_path / "app.yaml"


def as_task(app: Path, message: str = "") -> None:
    text = APP.replace("mode: MODE", f"mode: task, message: '{message}'" if message else "mode: task")
    app.write_text(text, encoding="utf-8")


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_one_message_gets_one_answer(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(app), "-m", 'greet somebody called "Ada"']) == 0
    shown = capsys.readouterr()
    assert shown.out == "Hello, Ada!\n"
    assert 'greet(name="Ada") ok' in shown.err


def test_a_conversation_takes_lines_until_they_end(
    app: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, 'greet somebody called "Ada"\n/tools\ngreet somebody called "Bob"\n')
    assert main(["run", str(app), "--session", "talk"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Hello, Ada!\n")
    assert out.endswith("Hello, Bob!\n")
    log = [json.loads(line) for line in (app.parent / "logs" / "talk.jsonl").read_text("utf-8").splitlines()]
    assert [line["tool_calls_count"] for line in log if line["type"] == "usage"] == [1, 1]


def test_an_empty_talk_leaves_nothing(
    app: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, "")
    assert main(["run", str(app)]) == 0
    assert main(["sessions", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize("said", ["own", "stdin", "message"])
def test_a_task_runs_once_and_ends(
    app: Path, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = 'greet somebody called "Ada"'
    as_task(app, request if said == "own" else "")
    type_in(monkeypatch, request if said == "stdin" else "")
    assert main(["run", str(app), *(["-m", request] if said == "message" else [])]) == 0
    assert capsys.readouterr().out == "Hello, Ada!\n"


def test_a_task_without_a_request_says_so(
    app: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    as_task(app)
    type_in(monkeypatch, "")
    assert main(["run", str(app)]) == 1
    assert capsys.readouterr().err.startswith("error: This app does one task, and no task was given.\nhint: Give one")


def test_what_needs_a_yes_waits_and_goes_on_with_the_session(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(app), "--session", "talk", "-m", DELETE]) == 2
    assert "go on with: --session talk" in capsys.readouterr().err
    assert main(["run", str(app), "--session", "talk", "-m", "yes"]) == 0
    assert "old is deleted" in capsys.readouterr().out
    assert main(["sessions", "show", "talk"]) == 0
    assert "tool calls: 2" in capsys.readouterr().out
    assert main(["sessions", "export", "talk", "--jsonl"]) == 0
    head, *lines = map(json.loads, capsys.readouterr().out.splitlines())
    assert (head["type"], head["tool_calls_count"]) == ("session", 2)
    assert sum(line["type"] == "usage" for line in lines) == 2


def test_events_can_be_json_one_a_line(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(app), "--json", "-m", 'greet somebody called "Ada"']) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (events[0]["type"], events[-1]["type"]) == ("run_started", "usage")


def test_a_talk_at_a_terminal_is_no_json(
    app: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, "")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert main(["run", str(app), "--json"]) == 1
    assert capsys.readouterr().err.startswith("error: A conversation at a terminal cannot be JSON.")


def test_check_tells_the_mode_with_its_numbers_and_runs_nothing(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = app.read_text("utf-8").replace("session_log: logs", "context_window: 600, context_share: 0.2")
    app.write_text(f"{text}", encoding="utf-8")
    assert main(["run", str(app), "--check"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[:3] == [f"{app}: OK", "", "agent main: 2 tools, a window of 600 tokens (as the file says)"]
    assert [line.split()[0] for line in out[3:7]] == ["mode", "direct", "compact", "discovery"]
    assert out[7].endswith("the budget of 120 (20% of a window of 600)")
    assert main(["run", str(app), "--check", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["app"], told["agents"][0]["budget_tokens"], told["warnings"]) == ("bot", 120, [])
    assert not (app.parent / "sessions.db").exists()


def test_a_missing_key_is_an_error_to_run_and_a_warning_to_check(
    app: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    text = app.read_text("utf-8").replace("{id: main}", "{id: main, brain: {provider: deepseek, model: m}}")
    app.write_text(text, encoding="utf-8")
    assert main(["run", str(app), "-m", "hi"]) == 3
    assert capsys.readouterr().err == (
        f"error: {app}:3:29: agents.0.brain.provider: the environment variable DEEPSEEK_API_KEY is not set\n"
        "hint: Set it, or run without a language model: `--model offline`.\n"
    )
    assert main(["run", str(app), "--check"]) == 0
    assert "warning:" in capsys.readouterr().err
    assert main(["run", str(app), "--model", "offline", "-m", 'greet somebody called "Ada"']) == 0


@pytest.mark.process
def test_a_server_that_is_down_is_told_and_the_app_runs(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = app.read_text("utf-8").replace(
        "tools: {", "tools: {mcp_servers: {gone: {command: no-such-program-at-all}}, "
    )
    app.write_text(text, encoding="utf-8")
    assert main(["run", str(app), "-m", 'greet somebody called "Ada"', "--verbose"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "Hello, Ada!\n"
    assert "warning: mcp:gone is not reachable" in shown.err
    assert main(["run", str(app), "--check"]) == 0
    assert "not counted, because nothing was started: mcp:gone" in capsys.readouterr().err


def test_a_wrong_file_is_told_with_every_line(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app.write_text("app: {app_id: b, nmae: x}\nagnets: []\n", encoding="utf-8")
    assert main(["run", str(app), "--check"]) == 1
    assert capsys.readouterr().err.splitlines()[:3] == [
        f"error: {app}:1:1: agents: is missing",
        f"{app}:1:18: app.nmae: unknown key. Did you mean 'name'?",
        f"{app}:2:1: agnets: unknown key. Did you mean 'agents'?",
    ]


def test_the_log_has_what_other_agents_do_for_the_one_who_talks(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = app.read_text("utf-8").replace(
        "{id: main}", "{id: main, tools: {}}, {id: greeter, phrases: [greet somebody]}"
    )
    app.write_text(text, encoding="utf-8")
    request = "Ask the greeter \"greet somebody called 'Ada'\""
    assert main(["run", str(app), "--session", "talk", "-m", request]) == 0
    assert "Hello, Ada!" in capsys.readouterr().out
    log = [json.loads(line) for line in (app.parent / "logs" / "talk.jsonl").read_text("utf-8").splitlines()]
    calls = [(line.get("agent"), line["name"]) for line in log if line["type"] == "tool_finished"]
    assert calls == [("greeter", "greet"), (None, "ask_greeter")]
    assert [line["tool_calls_count"] for line in log if line["type"] == "usage"] == [1, 1]
