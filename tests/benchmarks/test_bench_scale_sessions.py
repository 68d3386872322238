"""The benchmark of stores: what it measures, and what it writes."""

from pathlib import Path

import pytest

from benchmarks.scale_sessions import Measured, cost_of_news, measure, report


@pytest.mark.process
def test_a_store_is_measured_by_processes_that_begin_together(tmp_path: Path) -> None:
    found = measure("SQLite", str(tmp_path / "sessions.db"), 4, 2, 0.2)
    assert (found.store, found.writers, found.processes) == ("SQLite", 4, 2)
    assert found.steps_per_second > 0
    assert 0 < found.step_p50_ms <= found.step_p99_ms


def test_the_page_has_a_row_a_load() -> None:
    run = Measured("PostgreSQL", 8, 1, 1234.5, 2.345, 9.876, 56.78)
    page = report([run], {"without": 4500, "within": 460}, 5, 0.5)
    assert "| PostgreSQL | 8 | 1 | 1,234 | 2.3 | 9.9 | 56.8 |" in page
    assert "--seconds 5" in page
    assert "one small row each: 4,500. With a `NOTIFY` in\nthe same transaction: 460." in page


def test_news_are_measured_on_a_real_database(postgres_url: str) -> None:
    assert min(cost_of_news(postgres_url, 0.2).values()) > 0
