"""`toolcrib search`."""

import json
from pathlib import Path

import pytest

from toolcrib.cli.main import main
from toolcrib.cli.search import summarise
from toolcrib.search.result import SearchResult

OFFICE = str(Path(__file__).parents[2] / "examples" / "office")


def test_hits_are_data_and_confidence_is_talk(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "find a free room", "--from", OFFICE, "--limit", "2"]) == 0
    shown = capsys.readouterr()
    head, best, *_ = shown.out.splitlines()
    assert head.split() == ["name", "score", "description", "why"]
    assert best.startswith("find_free_room")
    assert shown.err.startswith("confidence ")


def test_json_holds_the_whole_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "find a free room", "--from", OFFICE, "--json"]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert set(found) == {"hits", "confidence", "path", "took_ms", "reason", "warnings"}
    assert found["hits"][0]["name"] == "find_free_room"
    assert shown.err == ""


def test_no_tool_is_a_negative_answer_with_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "qqq xyzzy", "--from", OFFICE]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("no tool: ")


def test_warnings_of_the_search_are_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    summarise(SearchResult(hits=(), confidence=0.0, path="none", took_ms=0.5, warnings=("The embedder is down.",)))
    assert capsys.readouterr().err == (
        "no tool: nothing fits\nconfidence 0.00, none, 0.50 ms\nwarning: The embedder is down.\n"
    )
