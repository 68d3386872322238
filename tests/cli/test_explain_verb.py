"""`toolcrib explain`."""

import json
from pathlib import Path

import pytest

from toolcrib.cli.main import main

OFFICE = str(Path(__file__).parents[2] / "examples" / "office")


def test_people_see_what_both_arms_thought(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "I forgot my pasword", "reset_password", "--from", OFFICE]) == 0
    shown = capsys.readouterr()
    head, *lines = shown.out.splitlines()
    assert head.startswith("reset_password for 'I forgot my pasword': rank 1, ")
    assert [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "] == [
        "lexical",
        "dense",
        "rerank",
        "decision",
    ]
    assert "nearest text: 'I forgot my password'" in shown.out
    assert "'pasword' was read as: password" in shown.out
    assert shown.err == ""


def test_programs_get_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "I forgot my password", "wipe_laptop", "--from", OFFICE, "--json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert (seen["query"], seen["name"], seen["tools"]) == ("I forgot my password", "wipe_laptop", 20)
    assert {"rank", "lexical_rank", "dense_rank", "cosine", "nearest", "answerable", "answer_above"} <= set(seen)


def test_an_unknown_tool_is_asked_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "I forgot my password", "reset_pasword", "--from", OFFICE]) == 1
    assert capsys.readouterr() == (
        "",
        "error: There is no tool named 'reset_pasword'.\nhint: Did you mean 'reset_password'?\n",
    )
