"""What the tests of the agent share."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolcrib.stores.session import Session
from toolcrib.stores.sqlite import SqliteStore

# Helpers such as `scripted_agent` stand beside the tests; `--import-mode=importlib` alone does not find them.
sys.path.insert(0, str(Path(__file__).parent))


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
