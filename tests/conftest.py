"""What every test shares."""

from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from benchmarks.postgres_server import PostgresServer, missing

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("toolcrib", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("toolcrib")

LONG = "tests/replicas/"  # a single test, and the longest by far


def pytest_configure(config: pytest.Config) -> None:
    """Where files are dealt out to workers, deal them in the order below, not those with the fewest tests last."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no worker is left with it while the others have nothing to do."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


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
