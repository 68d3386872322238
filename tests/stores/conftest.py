"""Every store test runs against each backend."""

from collections.abc import AsyncGenerator

import pytest

from tests.support.stores import Backend, Clock, PostgresBackend, SqliteBackend
from toolcrib.stores.store import Store


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgres", marks=pytest.mark.process)])
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Backend:
    if request.param == "postgres":
        return PostgresBackend(request.getfixturevalue("postgres"))
    return SqliteBackend(tmp_path_factory.mktemp("stores"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(backend: Backend, clock: Clock) -> AsyncGenerator[Store]:
    async with backend.open(backend.emptied_place(), clock) as opened:
        yield opened
