"""Training code reads its data from the project's root."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="session")
def measured_with() -> set[str]:
    """Every text that something is measured with."""
    lines = [
        line
        for folder in ("benchmarks/data", "tests/data")
        for file in (ROOT / folder).glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    rows = [json.loads(line) for line in lines]
    return {str(row.get("text", row.get("query", ""))).casefold() for row in rows} - {""}
