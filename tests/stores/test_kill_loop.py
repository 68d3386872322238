"""Agents on one store, killed, stopped and taken over: nothing is lost, nothing begun twice, no yes used twice."""

import os
import sys
from pathlib import Path

import pytest

from tests.support.kill_loop import looped
from tests.support.stores import Backend

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL"),
]
KILLS = int(os.environ.get("KILLS", "200"))


@pytest.mark.parametrize("kills", [24, pytest.param(KILLS, marks=pytest.mark.chaos)])
def test_agents_that_are_killed_stopped_and_taken_over_keep_every_promise(
    backend: Backend, tmp_path: Path, kills: int
) -> None:
    found = looped(backend.new_place(), tmp_path, kills)
    assert found.broken == []
    assert found.kills >= kills
    assert min(found.steps, found.calls, found.agreed, found.takeovers, found.stops) > 0
