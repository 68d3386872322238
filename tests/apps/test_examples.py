"""The example apps run, each with the offline brain."""

import shutil
from pathlib import Path

import pytest

from toolcrib.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples" / "apps"


@pytest.fixture
def apps(tmp_path: Path) -> Path:
    """The examples, where they may write."""
    return Path(shutil.copytree(EXAMPLES, tmp_path / "apps", ignore=shutil.ignore_patterns("__pycache__", ".toolcrib")))


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["run", *arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_STORE", str(tmp_path / "sessions.db"))
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)


@pytest.mark.parametrize("file", sorted(path.name for path in EXAMPLES.glob("*.yaml")))
def test_every_example_is_right(apps: Path, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"{file}: OK" in answer(capsys, str(apps / file), "--check")


def test_the_discovery_bot_finds_a_tool_and_does_not_run_it(apps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = "find a tool that can grep file contents and tell me what it requires; do not run it"
    said = answer(capsys, str(apps / "discovery-bot.yaml"), "--model", "offline", "--workdir", str(apps), "-m", request)
    assert "`pattern`" in said


@pytest.mark.process
def test_the_docs_helper_finds_what_the_handbook_says_and_remembers(
    apps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(apps / "docs-helper.yaml")
    assert "30 days" in answer(capsys, file, "-m", "search for the text 'vacation' in the files")
    answer(capsys, file, "-m", 'remember "Ada prefers trains"')
    assert "Ada prefers trains" in answer(capsys, file, "-m", "list everything you remember")


def test_the_two_agents_answer_together(apps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "2600.5" in answer(capsys, str(apps / "two-agents.yaml"))
