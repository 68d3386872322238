"""The command line as a whole: exit codes, errors, streams and help."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.cli.main import VERBS, exit_code, main, make_app
from toolcrib.errors import EmbedderError, LoadError

OFFICE = str(Path(__file__).parents[2] / "examples" / "office")


def toolcrib(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    code = "import sys; from toolcrib.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, timeout=60, env={**os.environ, **environment}, check=False)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["chek"], 'error: Unknown command "chek".\nhint: Did you mean "check"?\n'),
        (
            ["xyzzy"],
            'error: Unknown command "xyzzy".\n'
            "hint: There are: demo, chat, new, run, serve, schema, search, explain, ...\n",
        ),
        (["tools", "shwo"], 'error: Unknown command "shwo".\nhint: Did you mean "show"?\n'),
        (["check", "--form", "x"], "error: Unknown option: --form.\nhint: Did you mean --from?\n"),
    ],
)
def test_a_wrong_command_is_a_usage_error_with_a_hint(
    arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    assert capsys.readouterr() == ("", error)


def test_a_missing_argument_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "show"]) == 1
    assert capsys.readouterr().err.endswith("hint: See: toolcrib tools show --help\n")


def test_our_errors_are_shown_as_error_and_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "show", "send_mial", "--from", OFFICE]) == 1
    assert capsys.readouterr().err == "error: There is no tool named 'send_mial'.\nhint: Did you mean 'send_mail'?\n"


def test_an_error_knows_its_exit_code() -> None:
    assert (exit_code(LoadError("no")), exit_code(EmbedderError("down"))) == (1, 4)


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("toolcrib ")


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(verb in shown for verbs in VERBS.values() for verb in verbs)


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(place: str | None) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("toolcrib.cli.tools.load_catalog", interrupted)
    assert main(["check"]) == 130


@pytest.mark.process
def test_data_is_on_stdout_and_talk_on_stderr() -> None:
    done = toolcrib("tools", "list", "--json", "--from", OFFICE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(json.loads(done.stdout)) == 20


@pytest.mark.process
def test_a_pipe_gets_no_colour_even_when_asked_for_a_terminal() -> None:
    done = toolcrib("tools", "list", "--from", OFFICE, NO_COLOR="1", TERM="xterm-256color")
    assert b"\x1b" not in done.stdout + done.stderr


@pytest.mark.process
def test_a_stream_that_knows_only_ascii_is_not_fatal(tmp_path: Path) -> None:
    (tmp_path / "polish.py").write_text(
        "from toolcrib import tool\n\n@tool\ndef szukaj() -> str:\n    '''Znajdź zdjęcie.'''\n    return ''\n", "utf-8"
    )
    done = toolcrib("tools", "show", "szukaj", "--from", str(tmp_path), PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert rb"Znajd\u017a zdj\u0119cie." in done.stdout


@pytest.mark.process
def test_a_reader_that_leaves_early_is_not_an_error() -> None:
    command = f"{sys.executable} -c 'import sys; from toolcrib.cli.main import main; sys.exit(main())'"
    line = f"{command} tools list --json --from {OFFICE}; echo $? >&2"
    done = subprocess.run(["sh", "-c", f"({line}) | true"], capture_output=True, timeout=60, check=True)
    assert done.stderr.strip() == b"0"


def test_control_characters_of_a_tool_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "evil.py").write_text(
        "from toolcrib import tool\n\n@tool(description='Clear \\x1b[2J it.')\ndef evil() -> str:\n    return ''\n"
    )
    for verb in (["tools", "list"], ["tools", "show", "evil"]):
        assert main([*verb, "--from", str(tmp_path)]) == 0
        assert "\x1b" not in capsys.readouterr().out


@pytest.mark.process
def test_the_command_is_quick_to_load() -> None:
    code = """
import sys
import toolcrib.cli.main
assert "cyclopts" not in sys.modules  # the verbs are loaded where Ctrl-C is answered
toolcrib.cli.main.make_app(listing=True)
assert "numpy" not in sys.modules  # and help needs no search
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.process
def test_a_run_that_searches_nothing_loads_no_numpy(tmp_path: Path) -> None:
    code = """
import sys
from toolcrib.cli.main import main
assert main(["new", "desk"]) == 0
assert main(["run", "desk/app.yaml", "--message", "hi", "--store", "talks.db"]) == 0
assert "numpy" not in sys.modules
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert (done.returncode, "Hello!" in done.stdout) == (0, True), done.stderr


def test_the_old_spelling_of_a_verb_still_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalogue", "status", "--store", "talks.db"]) == 4
    assert capsys.readouterr().err.startswith("error: A shared catalog needs a PostgreSQL database.")


def test_the_list_of_verbs_says_what_each_verb_says_of_itself() -> None:
    whole = make_app()
    own = {verb: (whole[verb].help or "").partition("\n")[0] for verbs in VERBS.values() for verb in verbs}
    assert own == {verb: line for verbs in VERBS.values() for verb, (_, line) in verbs.items()}
