"""What the tests of apps share; their scripted model is that of the agent's tests."""

from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.apps import WriteApp
from toolcrib.stores.session import Session
from toolcrib.stores.sqlite import SqliteStore


@pytest.fixture
def write(tmp_path: Path) -> WriteApp:
    """Writes files beside each other, an app's file first; gives that one's path."""

    def written(text: str, **others: str) -> Path:
        for name, content in {"app.yaml": text, **others}.items():
            path = tmp_path / name.replace("__", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(content), encoding="utf-8")
        return tmp_path / "app.yaml"

    return written


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    """A new session."""
    async with SqliteStore(None) as store, store.open("talk") as session:
        yield session
