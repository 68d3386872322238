"""What the tests of the gateway share."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test remembers what another one saw, or what the user of this machine approved."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TOOLCRIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TOOLCRIB_TOKEN", raising=False)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
