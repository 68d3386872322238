"""`toolcrib eval`: the table, the files, thresholds as exit codes; and tasks and insights from sessions."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.agent import Shop, scripted
from toolcrib import Crib
from toolcrib.cli.main import main
from toolcrib.evals import load_tasks
from toolcrib.stores import SqliteStore

TOOLS = """
from toolcrib import Catalog

catalog = Catalog()

@catalog.tool(phrases=["find an image", "search photos"])
def search_images(query: str) -> list[str]:
    "Search images by what they show."
    return [query]

@catalog.tool(phrases=["list all pages", "show the pages"])
def list_pages() -> list[str]:
    "List all pages of the site."
    return ["home"]
"""
TASKS = """
name: site
cases:
- name: pages
  inputs: list all pages
  evaluators: [{CalledTools: [list_pages]}]
- name: greeting
  inputs: Hello!
  evaluators: [Refused]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "tasks.yaml").write_text(TASKS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluate(*options: str) -> int:
    return main(["eval", "tasks.yaml", "--from", "tools.py", "--model", "offline", *options])


def test_the_table_has_a_column_a_mode(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("--modes", "direct,compact,search,browse,domains") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["measure", "direct", "compact", "search", "browse", "domains"]
    assert lines[1].startswith("success")
    assert "100.0 %  100.0 % (0.0 % to 0.0 %)" in lines[1]
    assert "10 of 10 trials on offline" in err
    page = (folder / "eval-results/tasks/report.html").read_text("utf-8")
    assert page.count("<svg") >= 3
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_json_has_every_row(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("--json", "--output", "here") == 0
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads((folder / "here/report.json").read_text("utf-8"))
    [success] = [row for row in report["rows"] if (row["measure"], row["variant"]) == ("success", "search")]
    assert success["value"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "tasks": 2}
    assert success["difference"] == {"mean": 0.0, "low": 0.0, "high": 0.0, "tasks": 2}


def test_what_a_model_or_a_tool_wrote_is_escaped_on_the_page(folder: Path) -> None:
    Path("tasks.yaml").write_text(TASKS.replace("Hello!", "<img src=x onerror=alert(1)>"), encoding="utf-8")
    assert evaluate() == 0
    page = (folder / "eval-results/tasks/report.html").read_text("utf-8")
    assert "<img" not in page
    assert "&lt;img src=x" in page


def test_a_missed_threshold_is_exit_code_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tasks.yaml").write_text(TASKS.replace("[list_pages]", "[search_images]"), encoding="utf-8")
    assert evaluate("--min-success", "0.9", "--summary", "summary.md") == 2
    out, err = capsys.readouterr()
    assert "failed: search pages: CalledTools: not called: search_images" in out
    assert "search: success is 50.0%, below 90.0%." in err
    summary = (folder / "summary.md").read_text("utf-8")
    assert summary.startswith("### Eval of site on offline\n\n| | direct | search |\n|---|--:|--:|\n| success | 50.0 %")
    assert "**search: success is 50.0%, below 90.0%.**" in summary


def test_a_drop_against_an_earlier_run_is_exit_code_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("--output", "before") == 0
    Path("tasks.yaml").write_text(TASKS.replace("[list_pages]", "[search_images]"), encoding="utf-8")
    before = ["--compare", "before/report.json", "--max-drop", "0.02"]
    assert evaluate(*before) == 2
    assert "direct: success is 50.0%, 50.0 points below the earlier run." in capsys.readouterr().err


def test_distractors_are_further_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("--distractors", "50", "--stub") == 0
    head = capsys.readouterr().out.splitlines()[0]
    assert " ".join(head.split()) == "measure direct search direct +50 search +50"


def test_a_recorded_run_is_replayed_without_a_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("--record", "tape.jsonl") == 0
    assert main(["eval", "tasks.yaml", "--from", "tools.py", "--replay", "tape.jsonl", "--min-success", "1"]) == 0
    assert "4 of 4 trials on offline" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--modes", "serch"], "There is no mode 'serch' for evals."),
        (["--price", "much"], "'much' is no price."),
        (["--distractors", "many"], "'many' are no numbers."),
        (["--distractors", "90000"], "There are 7,"),
        (["--replay", "nothing.jsonl"], "'nothing.jsonl' cannot be read"),
        (["--compare", "nothing.json"], "'nothing.json' cannot be read"),
        (["--fixture", "tools.py:shop"], "There is no function 'shop' in 'tools.py'."),
        (["--fixture", "tools"], "'tools' names no function."),
    ],
)
def test_a_mistake_has_a_message_and_a_hint(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert evaluate(*options) == 1
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith(f"error: {message}")
    assert hint.startswith("hint: ")


def test_a_file_is_begun_from_a_catalog_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "new", "mine.yaml", "--from", "tools.py"]) == 0
    assert [case.name for case in load_tasks(Path("mine.yaml")).cases][:2] == ["search_images", "list_pages"]
    assert main(["eval", "new", "mine.yaml", "--from", "tools.py"]) == 1
    assert "is there already" in capsys.readouterr().err


async def talk(store: SqliteStore) -> None:
    """One session: a search that finds nothing, a tool that is found and left, one that is called, one that fails."""
    _, model = scripted(
        [("tool_search", {"query": "bake a cake"})],
        [("tool_search", {"query": "find an image"})],
        "I cannot bake.",
        [("tool_search", {"query": "rename a page"})],
        [("rename_page", {"slug": "home", "title": "Start"})],
        [("tool_search", {"query": "make a report"})],
        [("broken_report", {"name": "July"})],
        "It is called Start now.",
    )
    crib = Crib(Shop().catalog, model=model, store=store)
    await crib.run("Bake a cake with a photo", session="talk")
    await crib.run("Rename home to Start", session="talk")


async def kept(folder: Path) -> None:
    async with SqliteStore(folder / "talks.db") as store:
        await talk(store)


def test_sessions_become_tasks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(kept(folder))
    assert main(["sessions", "export", "talk", "--as-tasks", "--output", "real.yaml", "--store", "talks.db"]) == 0
    [case] = load_tasks(Path("real.yaml")).cases
    assert case.inputs.turns == ["Bake a cake with a photo", "Rename home to Start"]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - of two turns
    assert [repr(one) for one in case.evaluators] == [
        "CalledTools(tools=['rename_page'])",
        "Arguments(tool='rename_page', equal={'slug': 'home', 'title': 'Start'})",
    ]
    assert main(["sessions", "export", "talk", "--as-tasks", "--store", "talks.db"]) == 4
    assert "Tasks are written to a file." in capsys.readouterr().err


def test_insights_say_which_tools_need_better_texts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(kept(folder))
    assert main(["sessions", "insights", "--store", "talks.db"]) == 0
    out, err = capsys.readouterr()
    assert "nothing found: 'bake a cake'\n" in out
    assert "found and never called: search_images, 1 times, for 'find an image'\n" in out
    assert "failed: broken_report, 1 of 1 calls: " in out
    assert "1 sessions, 2 requests, 4 searches" in err
    assert main(["sessions", "insights", "--store", "talks.db", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nothing_found"] == [["bake a cake", 1]]
