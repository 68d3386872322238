"""The runner's benchmark writes its page; what it measures depends on the machine, and is not judged here."""

import json
from pathlib import Path

import pytest

from benchmarks import runner
from benchmarks.runner import Measured, Took


def test_the_page_and_the_numbers_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(runner, "SIZES", (5,))
    monkeypatch.setattr("sys.argv", ["runner.py", "--turns", "1", "--out", str(tmp_path / "page")])
    assert runner.main() in (0, 1)
    assert (tmp_path / "page.md").read_text("utf-8").startswith("# The runner\n")
    assert [one["tools"] for one in json.loads((tmp_path / "page.json").read_text("utf-8"))["sizes"]] == [5]


@pytest.mark.parametrize(("load", "judged"), [(0.1, False), (1_000.0, None)])
def test_the_clock_is_judged_only_on_a_machine_that_is_idle(load: float, judged: bool | None) -> None:
    slow = Took(cpu=1.0, wall=50.0, least=20.0)
    found = [Measured(tools=45, bare=slow, not_durable=slow, durable=slow)]
    assert [good for _, _, good in runner.promises(found, load)] == [True, judged, True]
