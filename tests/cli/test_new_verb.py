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
    assert capsys.readouterr().out.startswith("helper/app.yaml: OK\n")
    assert Path("helper/files").is_dir()


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        ("greet Ada", "Hello, Ada!"),
        ("greet", "For **greet**: what should **name** be?"),
        ("create a file notes.txt with the text hello", "**notes.txt**"),
        ("write a file notes.txt", "For **fs_write**: what should **content** be?"),
        ("remember that I like tea", "- text: I like tea"),
    ],
)
def test_its_tools_are_used_as_somebody_would_try_them(
    said: str, answered: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "helper"]) == 0
    assert main(["run", "helper/app.yaml", "-m", said]) == 0
    assert answered in capsys.readouterr().out
    if "hello" in said:
        assert Path("helper/files/notes.txt").read_text() == "hello"


def test_a_folder_is_not_its_app(capsys: pytest.CaptureFixture[str]) -> None:
    main(["new", "helper"])
    Path("empty").mkdir()
    assert main(["run", "helper"]) == main(["run", "empty"]) == 1
    said = capsys.readouterr().err
    assert "helper: an app is a file, and this is a folder.\nhint: Name the file in it: helper/app.yaml" in said
    assert "hint: Name its file." in said


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
