"""What every test shares."""

import gc
import os
import socket
import subprocess
from collections.abc import Generator
from functools import wraps
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs]
from xdist.scheduler import LoadFileScheduling  # pyright: ignore[reportMissingTypeStubs]

from benchmarks.postgres_server import PostgresServer, missing

# What users of this machine approved, logged in to and typed is not looked at, nor changed.
os.environ["XDG_DATA_HOME"] = mkdtemp(prefix="toolcrib-tests-")

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("toolcrib", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("toolcrib")

# Fixtures that start a process or a server, by name; a test that uses one is marked with `process`.
STARTING = {"built", "chromium", "desk", "live", "postgres", "server", "web"}
# What starts a process or takes a port. Pairs of sockets and clients in memory do neither.
STARTS = (
    (os, "fork"),
    (os, "forkpty"),
    (os, "posix_spawn"),
    (os, "system"),
    (socket.socket, "bind"),
    (subprocess.Popen, "__init__"),
)

PAGE = "tests/browser/"  # of one worker, which starts one browser and one demo for all its files
LONG = (PAGE, "tests/replicas/")


def pytest_configure(config: pytest.Config) -> None:
    """Where files are dealt out to workers, deal them in the order below, not those with the fewest tests last."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Deal out files, those of the page together."""
    return ByFile(config, log)


class ByFile(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return PAGE if nodeid.startswith(PAGE) else super()._split_scope(nodeid)


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no worker is left with it while the others have nothing to do."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))
    for item in items:
        if isinstance(item, pytest.Function) and not STARTING.isdisjoint(item.fixturenames):
            item.add_marker(pytest.mark.process)


def pytest_collection_finish() -> None:
    """Leave alone what stays to the end: to look through a million objects for garbage takes most of a second."""
    gc.freeze()


_started: list[str] = []  # by the running test


def _note_starts(owner: object, name: str) -> None:
    original = getattr(owner, name)

    @wraps(original)
    def noted(*arguments: Any, **options: Any) -> object:
        in_files = name == "bind" and isinstance(arguments[1], str | bytes)  # a socket that nobody else looks for
        asked_by_platform = arguments[1:2] == (["uname", "-p"],)  # when a client describes itself
        if not (in_files or asked_by_platform):
            _started.append(f"{name}: {arguments[-1:]}")
        return original(*arguments, **options)

    setattr(owner, name, noted)


# No audit hook: under coverage, threads that start at once would meet in it, and Python refuses the second its tracer.
for _owner, _name in STARTS:
    _note_starts(_owner, _name)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    _started.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Let no test start something unless it is marked, so that `make test-fast` keeps its promise."""
    result = yield
    if _started and item.get_closest_marker("process") is None:
        pytest.fail(f"mark it with `@pytest.mark.process`: it starts something ({_started[0]})", pytrace=False)
    return result


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, the loop our users have."""
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    """A real PostgreSQL with pgvector, one for each worker, started when the first test asks for it."""
    if reason := missing():
        pytest.skip(reason)
    with PostgresServer(in_memory=True) as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Generator[str]:
    """The URL of a database of its own."""
    url = postgres.new_database()
    yield url
    postgres.drop(url)
