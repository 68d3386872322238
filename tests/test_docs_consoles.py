"""What pages say that commands print is what they print."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = runpy.run_path(str(ROOT / "docs" / "consoles.py"))
CONSOLES = DOCS["every"](ROOT)


@pytest.mark.process
@pytest.mark.parametrize("console", CONSOLES, ids=lambda path: path.stem)
def test_commands_print_what_the_page_says(console: Path) -> None:
    said, now = console.read_text("utf-8"), DOCS["as_run"](console)
    assert DOCS["is_same"](said, now), f"run `make docs`; it prints now:\n{now}"


def test_times_and_last_digits_may_differ_but_words_may_not() -> None:
    assert DOCS["is_same"]("p99  14.16 ms  of all", "p99  3.2 ms   of all")
    assert not DOCS["is_same"]("rank 1", "rank 2")
    assert not DOCS["is_same"]("found", "not found")
