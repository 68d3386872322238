"""What every test shares."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

# `benchmarks` is not part of the package; its scripted provider (`benchmarks.wire`) serves many tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.postgres_server import PostgresServer, missing


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, the loop our users have."""
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    """A real PostgreSQL with pgvector, one for each worker, started when the first test asks for it."""
    if reason := missing():
        pytest.skip(reason)
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """The URL of a database of its own."""
    return postgres.new_database()
