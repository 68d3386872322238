"""The benchmark of scale: what it measures of the shared catalog, and the page it writes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import data, scale
from toolcrib.tools.tool import Tool


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(scale, "RESULTS", tmp_path / "scale.json")
    return tmp_path / "scale.json"


def test_the_page_has_a_table_for_everything_that_was_measured(results: Path) -> None:
    scale.keep("quality", "tiny", {"tools": 9, "queries": 3, "in_process": 0.9, "postgres": 0.8, "same_first": 1.0})
    scale.keep("postgres", "1000000", {"tools": 1_000_000, "p50_ms": 12.34, "replica_mb": 30.0})
    scale.keep("postgres", "100000", {"tools": 100_000, "p50_ms": 5.0})
    scale.write_page()
    assert set(json.loads(results.read_text())) == {"quality", "postgres"}
    page = results.with_suffix(".md").read_text()
    assert "| tiny | 9 | 3 | 90.0 | 80.0 | -10.0 | 100.0 |" in page
    assert "| `PostgresIndex` | 100,000 tools | 1,000,000 tools |" in page
    assert "| p50 ms | 5.00 | 12.3 |" in page
    assert "| replica mb |  | 30.0 |" in page


async def test_a_shared_catalog_is_measured(postgres: object, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = [Tool(name=f"tool_{n}", description="Do it.", call=data.never_called) for n in range(5)]

    def catalog(size: int) -> Iterator[Tool]:
        return iter(tools[:size])

    monkeypatch.setattr(scale, "tools_of_size", catalog)
    monkeypatch.setattr(scale, "CHANGES", 3)
    figures = await scale.shared_catalog(5)
    assert figures["tools"] == 5
    assert 0 < figures["change_reaches_replica_p50_ms"] <= figures["change_reaches_replica_max_ms"]
