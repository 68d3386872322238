"""What the journeys share; their model and their shop are those of the agent's tests."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolcrib.stores.session import Session
from toolcrib.stores.sqlite import SqliteStore

# Helpers such as `scripted_agent` stand beside the tests; `--import-mode=importlib` alone does not find them.
sys.path.insert(0, str(Path(__file__).parents[1] / "agent"))


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    """Sessions that last as long as the test."""
    async with SqliteStore(None) as store:
        yield store


@pytest.fixture
async def session(store: SqliteStore) -> AsyncIterator[Session]:
    """A new session."""
    async with store.open("talk") as session:
        yield session
