"""`toolcrib new`: a starter app that runs."""

from pathlib import Path

import pytest

from toolcrib.cli.main import main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLCRIB_STORE", str(tmp_path / "sessions.db"))


def test_a_new_app_runs_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "helper"]) == 0
    assert capsys.readouterr() == ("helper/app.yaml\nhelper/tools.py\n", "run it: toolcrib run helper/app.yaml\n")
    assert main(["run", "helper/app.yaml", "-m", 'greet somebody called "Ada"']) == 0
    assert capsys.readouterr().out == "Hello, Ada!\n"
    assert main(["run", "helper/app.yaml", "--check"]) == 0
    assert capsys.readouterr().out.startswith("helper is right.")
    assert Path("helper/files").is_dir()


def test_it_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "helper", "--in", "apps"]) == 0
    text = Path("apps/helper/app.yaml").read_text("utf-8")
    assert text.count("#") > 15
    assert '# config: {api_key: "{{env.OPENAI_API_KEY}}"}' in text
    assert "{name}" not in text


def test_nothing_is_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    Path("helper").mkdir()
    assert main(["new", "helper"]) == 1
    assert capsys.readouterr().err == "error: There is something at 'helper' already.\nhint: Choose another name.\n"
    Path("file").touch()
    assert main(["new", "helper", "--in", "file"]) == 1
    assert capsys.readouterr().err.startswith("error: 'file/helper' cannot be written")


@pytest.mark.parametrize("name", ["../x", "a b", "5", "x" * 41])
def test_a_name_has_to_be_one(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", name]) == 1
    assert "cannot be the name of an app" in capsys.readouterr().err
