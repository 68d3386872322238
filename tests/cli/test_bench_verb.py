"""`toolcrib bench`."""

import json
from pathlib import Path

import pytest

from toolcrib.cli.main import main

OFFICE = str(Path(__file__).parents[2] / "examples" / "office")
QUERIES = f"{OFFICE}/queries.jsonl"
FOUND = '{"text": "find a free room", "relevant": ["find_free_room"], "lang": "en"}\n'
MISSED = '{"text": "find a free room", "relevant": ["find_free_room", "wipe_laptop", "file_expense"]}\n'


def test_people_see_measures_languages_and_misses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q.jsonl").write_text(FOUND + MISSED + '{"text": "how are you?"}\n')
    assert main(["bench", "--from", OFFICE, "--queries", str(tmp_path / "q.jsonl")]) == 0
    shown = capsys.readouterr()
    measures = {line.split()[0] for line in shown.out.splitlines() if line}
    assert {"recall@1", "recall@5", "ndcg@10", "mrr", "comp@5", "junk", "p50", "p99", "en", "missed:"} <= measures
    assert shown.err == "2 requests, 1 with a tool missing from the top 5\n"


def test_programs_get_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q.jsonl").write_text(FOUND)
    assert main(["bench", "--from", OFFICE, "--queries", str(tmp_path / "q.jsonl"), "--json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert (seen["scores"]["recall_at_1"], seen["by_language"]["en"]["queries"], seen["missed"]) == (1.0, 1, [])


@pytest.mark.process  # matplotlib asks `fc-list` for fonts when it has no cache
def test_a_plot_is_drawn_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "seen.svg"
    assert main(["bench", "--from", OFFICE, "--queries", QUERIES, "--plot", str(plot)]) == 0
    assert plot.exists()
    assert f"plot: {plot}\n" in capsys.readouterr().err


def test_a_floor_that_is_not_reached_is_a_negative_answer(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(MISSED)
    arguments = ["bench", "--from", OFFICE, "--queries", str(tmp_path / "q.jsonl")]
    assert main([*arguments, "--fail-under", "100"]) == 2
    assert main([*arguments, "--fail-under", "10"]) == 0


def test_queries_without_languages_have_no_table_of_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.jsonl").write_text('{"text": "find a free room", "relevant": ["find_free_room"]}')
    assert main(["bench", "--from", OFFICE, "--queries", str(tmp_path / "q.jsonl")]) == 0
    assert "language" not in capsys.readouterr().out
