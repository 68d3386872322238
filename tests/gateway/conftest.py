"""What the tests of the gateway share."""

import sys
from pathlib import Path

import pytest

# `gateway_scene` stands beside the tests, the servers beside those of sources; `importlib` mode alone finds neither.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "sources")]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test remembers what another one saw."""
    monkeypatch.setenv("TOOLCRIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TOOLCRIB_TOKEN", raising=False)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
