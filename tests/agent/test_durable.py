"""A toolset in workflows of DBOS: killed in the middle of a tool, they go on where they were, in another process."""

import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.support import PATIENCE, ROOT

pytestmark = pytest.mark.process


def program(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.support.durable_program", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=2 * PATIENCE)


@pytest.fixture(scope="module")
def happened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What each workflow did in both processes, and what it came to."""
    folder = tmp_path_factory.mktemp("durable")
    assert (crashed := program(folder, "crash")).returncode == 3, crashed.stderr
    recovered = program(folder, "recover")
    assert recovered.returncode == 0, recovered.stderr
    lines = (folder / "log.txt").read_text("utf-8").splitlines()
    made: dict[str, list[str]] = {}
    for line in [*lines, *(f"{way}: {said}" for way, _, said in map(_parts, recovered.stdout.splitlines()))]:
        way, _, text = line.partition(": ")
        made.setdefault(way, []).append(text)
    return made


def _parts(line: str) -> tuple[str, str, str]:
    return line.partition(" ")


FOUND = "tool_search,water_plant,sell_plant"


def talked(*done: str) -> Sequence[str]:
    return ["model 0 tool_search", f"model 1 {FOUND}", "water fern", f"model 2 {FOUND}", f"model 3 {FOUND}", *done]


@pytest.mark.parametrize("way", ["steps", "dynamic"])
def test_no_call_and_no_request_that_has_its_result_is_made_again(way: str, happened: dict[str, list[str]]) -> None:
    """Where tools are steps, or a `DynamicToolset` with an id makes steps of all calls: only what was cut off repeats.

    The state of the toolset comes back too: the last request lists what was found before the crash.
    """
    assert happened[way] == talked("sell fern", "sell fern", f"model 4 {FOUND}", "Done.")


def test_tools_that_are_no_steps_are_called_again(happened: dict[str, list[str]]) -> None:
    assert happened["plain"] == talked("sell fern", "water fern", "sell fern", f"model 4 {FOUND}", "Done.")


def test_a_call_that_waits_for_approval_waits_through_a_crash(happened: dict[str, list[str]]) -> None:
    assert happened["approval"] == [
        "model 0 tool_search",
        "compost fern",
        "model 1 tool_search,compost_plant",
        "It is gone.",
    ]
