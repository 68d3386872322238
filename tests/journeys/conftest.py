"""What the journeys share; their model and their shop are those of the agent's tests."""

from collections.abc import AsyncIterator

import pytest

from toolcrib.stores.session import Session
from toolcrib.stores.sqlite.store import SqliteStore


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
