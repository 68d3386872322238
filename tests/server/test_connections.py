"""Connections that send half a request, stop in the middle, or do not read, cost others nothing."""

import logging
import resource
import select
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from tests.support import PATIENCE
from tests.support.server import QUIET, Scene, scene

pytestmark = pytest.mark.process
HANG = [("slow_archive", {"name": "x"})]
HALF = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def connect(here: Scene, data: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", here.http.base_url.port or 0), timeout=PATIENCE)
    connection.sendall(data)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side closed it, in time, after what it had to say."""
    try:
        while connection.recv(100_000):
            pass
        return True
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "data",
    [b"", HALF, b"POST /api/sessions/x/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n12"],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_request_that_stops_coming_is_closed(data: bytes) -> None:
    with scene(options=replace(QUIET, header_seconds=0.2, idle_seconds=0.2)) as here, connect(here, data) as slow:
        assert is_closed(slow)
        assert here.http.get("/health").status_code == 200


def test_a_head_that_comes_byte_by_byte_has_no_more_time() -> None:
    with scene(options=replace(QUIET, header_seconds=0.3)) as here, connect(here) as slow:
        slow.settimeout(0.01)
        deadline = time.monotonic() + PATIENCE
        while not (closed := sends_and_hears_the_end(slow)) and time.monotonic() < deadline:
            pass
        assert closed


def sends_and_hears_the_end(connection: socket.socket) -> bool:
    """Send one more byte; gives whether the other side has closed."""
    try:
        connection.sendall(b"G")
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_the_head_of_a_second_request_has_a_limit_too() -> None:
    with scene(options=replace(QUIET, header_seconds=0.2)) as here, connect(here, HALF + b"\r\n") as slow:
        assert slow.recv(100_000).startswith(b"HTTP/1.1 200")
        slow.sendall(HALF)
        assert is_closed(slow)


def test_an_answer_that_nobody_reads_is_given_up() -> None:
    with scene(options=replace(QUIET, idle_seconds=0.2)) as here:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with connection:
            connection.connect(("127.0.0.1", here.http.base_url.port or 0))
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200)
            ended = select.poll()
            ended.register(connection, select.POLLERR | select.POLLHUP)
            assert ended.poll(PATIENCE * 1000)


def test_half_sent_requests_give_way_to_whole_ones(caplog: pytest.LogCaptureFixture) -> None:
    options = replace(QUIET, most_connections=20)
    with caplog.at_level(logging.WARNING), scene(options=options) as here, ExitStack() as open_ones:
        halves = [open_ones.enter_context(connect(here, HALF)) for _ in range(60)]
        for _ in range(3):
            with httpx2.Client(base_url=here.http.base_url, timeout=PATIENCE) as other:
                assert other.get("/health").status_code == 200
        assert all(is_closed(one) for one in halves[:40])
    assert [record.message for record in caplog.records] == ["Connections were closed at a limit of time or number: 1."]


def test_answers_under_way_are_not_cut_for_new_connections() -> None:
    with scene(HANG, options=replace(QUIET, most_connections=1)) as here:
        session = here.session()
        with here.http.stream("POST", f"/api/sessions/{session}/messages", json={"text": "go"}) as answer:
            lines = answer.iter_lines()
            assert next(lines).startswith("event: run_started")
            with httpx2.Client(base_url=here.http.base_url, timeout=PATIENCE) as other:
                refused = other.get("/health")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            assert any("tool_started" in line for line in lines)


@contextmanager
def many_descriptors() -> Generator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2_000:
        pytest.skip("this process may not open so many connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2_000), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_more_half_sent_requests_than_descriptors_leave_the_server_answering(tmp_path: Path) -> None:
    code = "import sys; from toolcrib.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "serve", "--from", "toolcrib_cms:definitions", "--model", "offline"]
    with many_descriptors(), ExitStack() as open_ones:
        log = open_ones.enter_context((tmp_path / "log").open("wb"))
        server = subprocess.Popen(
            ["sh", "-c", 'ulimit -n 1024; exec "$@"', "sh", *command, "--port", "0", "--store", str(tmp_path / "s.db")],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        with server:
            assert server.stdout is not None
            try:
                with httpx2.Client(base_url=server.stdout.readline().strip(), timeout=PATIENCE) as http:
                    here = ("127.0.0.1", http.base_url.port or 0)
                    assert http.get("/health").status_code == 200
                    before = (tmp_path / "log").stat().st_size
                    for _ in range(1_300):
                        open_ones.enter_context(socket.create_connection(here, timeout=PATIENCE)).sendall(HALF)
                    for _ in range(5):
                        with httpx2.Client(base_url=http.base_url, timeout=PATIENCE) as other:
                            assert other.get("/health").status_code == 200
                    assert (tmp_path / "log").stat().st_size - before < 5_000
            finally:
                server.terminate()
