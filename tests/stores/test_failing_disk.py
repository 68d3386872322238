"""A disk that fails at any call: what was told to be kept is there, an error is told, no session is left busy."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.failing_disk import FAULTS, failed

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux" or shutil.which("gcc") is None, reason="for Linux, and needs gcc"),
]


@pytest.mark.parametrize("every", [40, pytest.param(6, marks=pytest.mark.chaos)])
def test_a_call_of_sqlite_that_fails_loses_nothing_and_leaves_no_session_busy(tmp_path: Path, every: int) -> None:
    found = failed(tmp_path, every)
    assert found.wrong == []
    assert found.tried.keys() == FAULTS.keys()
    assert all(found.told[fault] for fault in FAULTS if "unlink" not in fault and "lock" not in fault)
