"""What every test shares."""

import sys
from pathlib import Path

import pytest

# `benchmarks` is not part of the package; its scripted provider (`benchmarks.wire`) serves many tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, the loop our users have."""
    return "asyncio"
