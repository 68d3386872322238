"""`toolcrib check`."""

import json
from pathlib import Path

import pytest

from tests.support.calls import always
from toolcrib.cli.main import main
from toolcrib.evals.retrieval import Finding

OFFICE = str(Path(__file__).parents[2] / "examples" / "office")
WRONG = """
from toolcrib import Catalog

catalog = Catalog()


@catalog.tool(risk="destructive", related=["delete_pag"])
def delete_page(page: str) -> str:
    '''Delete a page.'''
    return ""


@catalog.tool(confirm=True, risk="destructive", related=["delete_page"])
def delete_all() -> str:
    return ""
"""


def test_a_catalog_in_order_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--from", OFFICE]) == 0
    assert capsys.readouterr() == ("", "20 tools, no problems\n")


def test_every_problem_is_told_by_tool_with_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong_pages.py").write_text(WRONG)
    assert main(["check", "--no-search", "--from", str(tmp_path)]) == 2
    assert capsys.readouterr() == (
        """\
delete_all
  empty-description: It has no description, so it is hard to find.
    hint: Say in one sentence what it does, in its docstring.
delete_page
  unknown-related: It is related to 'delete_pag', which does not exist.
    hint: Did you mean 'delete_page'?
  unconfirmed-destructive: It is destructive, but runs without asking the user.
    hint: Set `confirm` to true, or lower its risk.
""",
        "2 tools, 3 problems\n",
    )


def test_problems_are_data_for_programs_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong_pages.py").write_text(WRONG)
    assert main(["check", "--no-search", "--from", str(tmp_path), "--json"]) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)[0] == {
        "tool": "delete_page",
        "rule": "unknown-related",
        "message": "It is related to 'delete_pag', which does not exist.",
        "hint": "Did you mean 'delete_page'?",
    }
    assert shown.err == ""


def test_a_tool_that_its_words_do_not_find_is_a_problem(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = Finding(tool="announce", rule="unreachable", message="None of its 3 queries finds it.", hint="Say more.")
    monkeypatch.setattr("toolcrib.cli.tools.hard_to_find", always([lost]))
    assert main(["check", "--from", OFFICE, "--json"]) == 2
    assert json.loads(capsys.readouterr().out) == [
        {"tool": "announce", "rule": "unreachable", "message": "None of its 3 queries finds it.", "hint": "Say more."}
    ]


def test_confusable_tools_are_told_but_are_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    advice = Finding(
        tool="post_chat", rule="confusable", message="'announce' comes before it.", hint="Tell them apart."
    )
    monkeypatch.setattr("toolcrib.cli.tools.hard_to_find", always([advice]))
    assert main(["check", "--from", OFFICE]) == 0
    assert "  confusable: 'announce' comes before it.\n    hint: Tell them apart.\n" in capsys.readouterr().out
