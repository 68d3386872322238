"""What every test shares."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, the loop our users have."""
    return "asyncio"
