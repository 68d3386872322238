"""Load at the limit: streams that are abandoned, clients that read slowly or send half, leave nothing behind."""

import asyncio
import json
import os
import socket
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.support import PATIENCE, ROOT

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="a process is looked at through /proc"),
]
SAID = "find a photo of mountains"
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: no farewell, as when a client is killed
HABITS = ("reads all", "leaves early", "reads nothing", "sends half")
FEW = 8  # threads and descriptors that come with the kind of work, not with its amount
GROWTH_BYTES = 40 << 20


@dataclass(frozen=True)
class Server:
    """A server process, and what it takes."""

    process: int
    port: int

    @property
    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process}/fd"))

    @property
    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.process}/task"))

    @property
    def memory(self) -> int:
        """Bytes that are its own."""
        pages = Path(f"/proc/{self.process}/statm").read_text().split()
        return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def server(folder: Path) -> Generator[Server]:
    command = [sys.executable, "benchmarks/overload.py", "--serve", str(folder), "--wait", "3"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(process.pid, httpx2.URL(process.stdout.readline().strip()).port or 0)
        finally:
            process.terminate()


async def visit(here: Server, session: str, habit: str, over: asyncio.Event) -> str:
    """One client and its habit; gives what became of it."""
    connection = socket.socket()
    connection.setblocking(False)
    if habit == "reads nothing":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", here.port))
    reader, writer = await asyncio.open_connection(sock=connection, limit=1024)
    body = json.dumps({"text": SAID}).encode()
    head = f"POST /api/sessions/{session}/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    length = f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write((head + length).encode() + (body[:5] if habit == "sends half" else body))
    try:
        if habit == "sends half":
            await over.wait()
            return habit
        status = (await reader.readline()).split()[1].decode()
        if status != "200":
            return status
        if habit == "reads all":
            whole = (await reader.read(-1)).decode()
            return "answered" if "event: usage" in whole and "event: failed" not in whole else whole
        if habit == "leaves early":
            await reader.readuntil(b"event: ")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        else:
            await over.wait()
        return habit
    finally:
        writer.close()


async def played(here: Server, clients: int) -> Counter[str]:
    """A round of so many clients of each habit, at once; it ends when the server has nothing to do any more."""
    async with (
        asyncio.timeout(2 * PATIENCE),
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{here.port}", timeout=PATIENCE) as http,
    ):
        over = asyncio.Event()
        sessions = [(await http.post("/api/sessions")).json()["id"] for _ in range(clients * len(HABITS))]
        visits = {
            asyncio.create_task(visit(here, session, HABITS[number % len(HABITS)], over)): HABITS[number % len(HABITS)]
            for number, session in enumerate(sessions)
        }
        await asyncio.gather(*(one for one, habit in visits.items() if habit in HABITS[:2]))
        assert (await http.get("/health")).status_code == 200
        over.set()
        seen = Counter(await asyncio.gather(*visits))
        while (await http.get("/health/ready")).json()["runs"]:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.05)
        return seen


@dataclass
class Found:
    """What a server came to under load: clients by what became of them, and what it took before and after."""

    seen: Counter[str]
    descriptors: tuple[int, int]
    threads: tuple[int, int]
    memory: tuple[int, int]


def loaded(folder: Path, rounds: int, clients: int) -> Found:
    """So many rounds, after two that make what is made once."""
    with server(folder) as here:
        seen = asyncio.run(played(here, clients)) + asyncio.run(played(here, clients))
        before = here.descriptors, here.threads, here.memory
        for _ in range(rounds):
            seen += asyncio.run(played(here, clients))
        after = here.descriptors, here.threads, here.memory
    return Found(seen, *zip(before, after, strict=True))


@pytest.mark.parametrize(("rounds", "clients"), [(4, 6), pytest.param(12, 24, marks=pytest.mark.chaos)])
def test_abandoned_streams_and_slow_clients_leave_nothing_behind(tmp_path: Path, rounds: int, clients: int) -> None:
    found = loaded(tmp_path, rounds, clients)
    assert set(found.seen) <= {"answered", "503", *HABITS[1:]}
    assert min(found.seen[habit] for habit in ("answered", *HABITS[1:])) > 0
    for before, after in (found.descriptors, found.threads):
        assert after <= before + FEW
    assert found.memory[1] <= found.memory[0] + GROWTH_BYTES
