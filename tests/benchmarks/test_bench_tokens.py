"""The token benchmark, on the CMS tools, which lie in the repository."""

import json
from pathlib import Path

import pytest

from benchmarks import tokens

NOTES = {"median": 4.0, "least": 3.0, "pairs": 10}


def test_the_cms_is_measured_in_every_mode() -> None:
    row = tokens.measured(tokens.CMS, prompt=300)
    assert row["direct"] > row["compact"] > row["after_two_searches"]["median"] > row["after_one_search"]["median"]
    assert len(row["discovery_step_0"]) == 1
    assert row["discovery_step_0"][0] < 500
    assert row["browse_with_categories"] < 2_000
    assert row["auto"][1_000_000] == "direct"


@pytest.mark.parametrize(
    ("row", "notes", "verdicts"),
    [
        ({}, {}, [True, True, True, True]),
        ({"discovery_step_0": [400, 600]}, {}, [False, False, True, True]),
        ({"browse_with_categories": 2_000}, {"median": 2.0}, [True, True, False, False]),
    ],
)
def test_promises_are_held_against_figures(
    row: dict[str, object], notes: dict[str, object], verdicts: list[bool]
) -> None:
    measured = {"tools": 200, "discovery_step_0": [400], "browse_with_categories": 1_500, **row}
    promises = tokens.kept([measured], {**NOTES, **notes})
    assert [good for _, _, good in promises] == verdicts


def test_the_page_and_the_numbers_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["tokens.py", "--sizes", "45", "--out", str(tmp_path / "tokens")])
    assert tokens.main() == 0
    assert (tmp_path / "tokens.md").read_text("utf-8").startswith("# Tokens\n")
    assert [row["tools"] for row in json.loads((tmp_path / "tokens.json").read_text("utf-8"))["sizes"]] == [45]
