"""`toolcrib tokens`: the table, the JSON, and what it says when it does not know."""

import json
from pathlib import Path

import pytest

from toolcrib.cli.main import main
from toolcrib.discovery import tokens

OFFICE = str(Path(__file__).parents[2] / "examples" / "office")


def test_the_table_shows_each_mode_and_what_auto_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "--from", OFFICE, "--window", "16000"]) == 0
    out, err = capsys.readouterr()
    head, *rows = out.split("\n\n")[0].splitlines()
    assert head.split("  ")[0] == "mode"
    assert [tuple(part.strip() for part in row.split("  ") if part.strip())[:2] for row in rows] == [
        ("direct", "at each step"),
        ("compact", "at step 0"),
        ("discovery", "at step 0"),
        ("discovery", "after one search"),
        ("discovery", "after two searches"),
    ]
    assert "auto takes direct: the schemas of 20 tools take" in out
    assert "searched 'set up a call': book_meeting" in err
    assert "counted with o200k, the vocabulary of gpt-5.4" in err


def test_programs_get_the_parts_and_the_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "--from", OFFICE, "--json", "--model", "gpt-4o"]) == 0
    told = json.loads(capsys.readouterr().out)
    direct, compact, start, first, second = told["rows"]
    assert direct["tokens"] == direct["definitions"] > compact["tokens"] > start["tokens"]
    assert start["visible"] == 1
    assert start["results"] == start["protocols"] == 0
    for row in (first, second):
        assert row["tokens"] == row["definitions"] + row["prompt"] + row["results"] + row["protocols"]
    assert second["results"] > first["results"] > 0
    assert first["protocols"] > 0
    assert direct["dollars_per_10000_requests"] == pytest.approx(direct["tokens"] * 10_000 * 2.5e-6)
    assert direct["share_of_window"] == direct["tokens"] / 200_000
    assert told["exact"] is True
    assert [told["auto"][key] for key in ("mode", "tools", "direct_tokens")] == ["direct", 20, direct["tokens"]]
    assert told["auto"]["compact_tokens"] == compact["tokens"]
    assert told["auto"]["discovery_tokens"] == start["tokens"]
    assert told == _again(capsys)


def _again(capsys: pytest.CaptureFixture[str]) -> object:
    main(["tokens", "--from", OFFICE, "--json", "--model", "gpt-4o"])
    return json.loads(capsys.readouterr().out)


def test_a_claude_model_is_counted_in_its_own_form_and_as_an_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "--from", OFFICE, "--model", "claude-sonnet-4-5"]) == 0
    out, err = capsys.readouterr()
    assert "about " in out
    assert "$" in out
    assert "counted with o200k: an estimate for claude-sonnet-4-5" in err


def test_the_cost_at_an_unknown_model_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "--from", OFFICE, "--model", "my-own"]) == 0
    out = capsys.readouterr().out
    assert out.count("unknown") == 5
    assert "$" not in out


def test_without_the_vocabulary_the_verb_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "_o200k", lambda: None)
    assert main(["tokens", "--from", OFFICE]) == 0
    out, err = capsys.readouterr()
    assert "about " in out
    assert "pip install 'toolcrib[tokens]'" in err


def test_an_empty_catalog_costs_its_search_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "no_tools_here.py").write_text("from toolcrib import Catalog\n\ncatalog = Catalog()\n")
    assert main(["tokens", "--from", str(tmp_path / "no_tools_here.py"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(row["mode"], row["visible"]) for row in told["rows"]] == [("direct", 0), ("compact", 1), ("discovery", 1)]


def test_a_window_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tokens", "--from", OFFICE, "--window", "0"]) == 1
    assert "error: A context window of 0 tokens cannot be." in capsys.readouterr().err
