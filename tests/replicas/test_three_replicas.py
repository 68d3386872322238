"""Three servers on one store, killed one after the other: nothing is lost, and nothing is done twice."""

import asyncio
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from benchmarks.postgres_server import PostgresServer
from tests.support import PATIENCE, ROOT
from tests.support.replicas.balancer import RoundRobin
from tests.support.replicas.customer import Customer
from tests.support.replicas.replica import LEDGER, SOURCE, catalog_of
from toolcrib.postgres.catalog import SharedCatalog
from toolcrib.postgres.database import PostgresDatabase
from toolcrib.stores.store import open_store

ERRANDS = ("order", "refund", "stamp")
AT_ONCE = 24


class Seed:
    """The process that replicas are forked from."""

    def __init__(self, url: str, store: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.replicas.replica", url, store],
            cwd=ROOT,
            env={**os.environ, "PYDANTIC_AI_NO_BANNER": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def told(self, verb: str, number: int) -> int:
        """Its answer to an order."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{verb} {number}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it and all that came of it."""
        self._process.communicate(timeout=PATIENCE)


class Replica:
    """A server process that can be killed and started again, on the same port."""

    def __init__(self, seed: Seed) -> None:
        self._seed = seed
        # Bound and never listening: nobody else gets the port while the replica is dead, and who calls it is refused.
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))
        self.port: int = self._held.getsockname()[1]

    async def start(self) -> None:
        """Come back when it can work."""
        self._process = await asyncio.to_thread(self._seed.told, "start", self.port)
        async with asyncio.timeout(PATIENCE), httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.port}") as http:
            while not (await http.get("/health/ready", timeout=PATIENCE)).is_success:
                pass

    async def found(self, query: str) -> str:
        """What it finds for a request."""
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", timeout=PATIENCE) as http:
            return (await http.post("/api/search", json={"query": query})).json()["hits"][0]["name"]

    async def kill(self) -> None:
        """Come back when it is dead."""
        await asyncio.to_thread(self._seed.told, "kill", self._process)

    def close(self) -> None:
        """Let go of the port."""
        self._held.close()


@pytest.mark.parametrize("engine", ["postgres", "sqlite"])
@pytest.mark.parametrize(
    ("conversations", "talks_per_kill"), [(45, 15), pytest.param(300, 40, marks=pytest.mark.chaos)]
)
async def test_conversations_go_on_over_replicas_that_are_killed(
    postgres: PostgresServer, tmp_path: Path, engine: str, conversations: int, talks_per_kill: int
) -> None:
    url = postgres.new_database()
    store = url if engine == "postgres" else str(tmp_path / "sessions.db")
    with psycopg.connect(url) as connection:
        connection.execute(LEDGER)
    tools = catalog_of(url)
    shared = SharedCatalog(PostgresDatabase(url))
    await shared.register(SOURCE, [tool for tool in tools if tool.name != "stamp_order"])
    seed = Seed(url, store)
    replicas = [Replica(seed) for _ in range(3)]
    try:
        for replica in replicas:
            await replica.start()
        async with AsyncExitStack() as stack:
            balancer = await stack.enter_async_context(RoundRobin([replica.port for replica in replicas]))
            http = await stack.enter_async_context(
                httpx2.AsyncClient(base_url=balancer.url, timeout=PATIENCE, limits=httpx2.Limits(max_connections=64))
            )
            progress: asyncio.Queue[bool] = asyncio.Queue()
            trouble = asyncio.create_task(_trouble(replicas, postgres, progress, talks_per_kill))
            words = await _talk(conversations, http, progress, lambda: shared.register(SOURCE, list(tools)))
            progress.put_nowait(False)
            kills = await trouble
            found = [await replica.found("stamp an order with a seal") for replica in replicas]
    finally:
        await shared.database.close()
        seed.close()
        for replica in replicas:
            replica.close()
    with psycopg.connect(url) as connection:
        done = Counter(connection.execute("SELECT done, number FROM ledger").fetchall())
    async with open_store(store) as kept:
        log = [line.event for info in await kept.sessions() for line in await kept.events(info.id)]
    assert kills >= len(replicas)
    assert words == [[f"Done: {task} {number}." for task in ERRANDS] for number in range(conversations)]
    assert done == Counter((task, number) for task in ERRANDS for number in range(conversations))
    assert max(_acted_on(log).values()) == 1
    assert found == ["stamp_order"] * 3


def _acted_on(log: Iterable[dict[str, Any]]) -> Counter[str]:
    """How many calls each confirmation led to, by the logs of all sessions, one behind the other."""
    used: Counter[str] = Counter()
    confirmation: str | None = None
    for event in log:
        if event["type"] == "run_started":
            confirmation = event["confirmation"]
        elif event["type"] == "tool_finished" and confirmation and event["name"] == "refund_order":
            used[confirmation] += event["text"].endswith(": done")
    return used


async def _talk(
    conversations: int,
    http: httpx2.AsyncClient,
    progress: "asyncio.Queue[bool]",
    half_way: Callable[[], Awaitable[object]],
) -> list[list[str]]:
    """All conversations, some at a time; gives what each customer was told last of each errand.

    The last errand needs a tool that is there from half-way on.
    """
    customers = [Customer(http) for _ in range(conversations)]
    places = asyncio.Semaphore(AT_ONCE)

    async def talk(number: int, customer: Customer, errands: Sequence[str]) -> list[str]:
        async with places:
            if not customer.session:
                await customer.begin()
            told = [await customer.want(f"{task} {number}") for task in errands]
        progress.put_nowait(True)
        return told

    async def all_talk(*errands: str) -> list[list[str]]:
        return await asyncio.gather(*(talk(number, one, errands) for number, one in enumerate(customers)))

    first = await all_talk(*ERRANDS[:2])
    await half_way()
    last = await all_talk(*ERRANDS[2:])
    return [[*early, *late] for early, late in zip(first, last, strict=True)]


async def _trouble(
    replicas: list[Replica], postgres: PostgresServer, progress: "asyncio.Queue[bool]", talks_per_kill: int
) -> int:
    """Kill one replica after the other while people talk, and PostgreSQL once; gives how many were killed."""
    kills = done = 0
    while await progress.get():
        done += 1
        if done % talks_per_kill != 1:
            continue
        replica = replicas[kills % len(replicas)]
        await replica.kill()
        await replica.start()
        kills += 1
        if kills == 2:
            await asyncio.to_thread(postgres.restart)
    return kills
