"""`toolcrib search`."""

import json
from pathlib import Path

import pytest

from tests.support.calls import always
from toolcrib.cli.main import main
from toolcrib.cli.search import summarise
from toolcrib.search.confidence import Calibration
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
    assert main(["search", "?!", "--from", OFFICE]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("no tool: The request has no words.\n")


def test_every_hit_is_explained_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "Passwort vergessen", "--from", OFFICE, "--limit", "3", "--explain"]) == 0
    table, *explanations = capsys.readouterr().out.split("\n\n")
    named = [line.split()[0] for line in table.splitlines()[1:]]
    assert [explanation.partition(" for 'Passwort vergessen': ")[0] for explanation in explanations] == named
    assert all("  lexical " in explanation and "  decision " in explanation for explanation in explanations)


def test_explanations_are_data_for_programs_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "find a free room", "--from", OFFICE, "--explain", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [why["name"] for why in found["explanations"]] == [hit["name"] for hit in found["hits"]]


def test_without_a_hit_the_nearest_tool_is_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Calibration, "p_answerable", always(0.0))  # whatever the model is fitted to
    assert main(["search", "ile dni urlopu mi zostało", "--from", OFFICE, "--explain"]) == 2
    shown = capsys.readouterr()
    assert shown.out.startswith("\nvacation_balance for 'ile dni urlopu mi zostało': not in the answer")
    assert shown.err.startswith("no tool: No tool fits this request.\n")


def test_without_a_place_the_reference_cms_is_searched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "find hero image", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"][0]["name"] == "cms_searchImages"
    assert main(["explain", "find hero image", "cms_searchImages"]) == 0
    assert capsys.readouterr().out.startswith("cms_searchImages for 'find hero image': rank 1,")


def test_warnings_of_the_search_are_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    summarise(SearchResult(hits=(), confidence=0.0, path="none", took_ms=0.5, warnings=("The embedder is down.",)))
    assert capsys.readouterr().err == (
        "no tool: nothing fits\nconfidence 0.00, none, 0.50 ms\nwarning: The embedder is down.\n"
    )
