"""How many steps and conversations a second a store keeps: SQLite on this machine's disk, and a real PostgreSQL.

    python benchmarks/scale_sessions.py [--seconds 5]

Both are durable: a step is on disk before it counts. A writer keeps one step after the other in a session of its own; a
step is what an agent's step leaves behind: two messages, four events, working memory, toolbox and usage, some 3 KB. A
conversation is a new session, opened, four steps, closed. Each process is a replica with a store of its own.
"""

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.postgres_server import PostgresServer
from toolcrib.memory.working import Outcome, WorkingMemory
from toolcrib.stores.record import now
from toolcrib.stores.session import Session
from toolcrib.stores.store import Store, open_store

RESULTS = Path(__file__).parent / "results"
LOADS = ((1, 1), (8, 1), (32, 1), (32, 4))  # writers, and the processes they are spread over
STEPS_PER_CONVERSATION = 4
CONNECTIONS = 16  # of the measurement of news

ANSWER = "The page is published, and the menu links to it. " * 8
MESSAGES = (
    {"kind": "response", "parts": [{"tool": "cms_updatePage", "args": {"id": 7, "title": "About us"}, "text": ANSWER}]},
    {"kind": "request", "parts": [{"tool": "cms_updatePage", "content": ANSWER}]},
)
EVENTS = (
    {"type": "tool_discovery_result", "query": "publish the page", "tools": ["cms_updatePage"], "confidence": 0.93},
    {"type": "tool_started", "call_id": "c1", "name": "cms_updatePage", "arguments": {"id": 7, "title": "About us"}},
    {"type": "tool_finished", "call_id": "c1", "name": "cms_updatePage", "text": ANSWER, "failed": False},
    {"type": "usage", "requests": 2, "input_tokens": 812, "output_tokens": 64},
)
TOOLBOX = {"active": [f"cms_tool{number}" for number in range(6)], "version": 1}


@dataclass(frozen=True)
class Measured:
    """One load on one store."""

    store: str
    writers: int
    processes: int
    steps_per_second: float
    step_p50_ms: float
    step_p99_ms: float
    conversations_per_second: float


async def keep_step(session: Session, memory: WorkingMemory) -> float:
    began = time.perf_counter()
    usage = {"input_tokens": 812, "output_tokens": 64}
    await session.append(MESSAGES, memory=memory, toolbox=TOOLBOX, usage=usage, events=EVENTS)
    return (time.perf_counter() - began) * 1000


def working_memory() -> WorkingMemory:
    memory = WorkingMemory(discovered=tuple(TOOLBOX["active"]), summary="The user edits the about page.")
    for name in TOOLBOX["active"]:
        memory = memory.with_use(name, Outcome.OK, at=now())
    return memory


async def steps_of_writer(store: Store, deadline: float) -> list[float]:
    memory = working_memory()
    times: list[float] = []
    while time.perf_counter() < deadline:
        async with store.open() as session:
            while (
                time.perf_counter() < deadline and len(session.history) < 100
            ):  # a long session is not a million steps
                times.append(await keep_step(session, memory))
    return times


async def conversations_of_writer(store: Store, deadline: float) -> int:
    memory = working_memory()
    count = 0
    while time.perf_counter() < deadline:
        async with store.open() as session:
            for _ in range(STEPS_PER_CONVERSATION):
                await keep_step(session, memory)
        count += 1
    return count


async def replica(place: str, writers: int, seconds: float) -> None:
    """What one process does, told on its first line of input to begin."""
    async with open_store(place) as store:
        await store.sessions(limit=1)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        deadline = time.perf_counter() + seconds
        times = await asyncio.gather(*(steps_of_writer(store, deadline) for _ in range(writers)))
        deadline = time.perf_counter() + seconds
        counts = await asyncio.gather(*(conversations_of_writer(store, deadline) for _ in range(writers)))
    print(json.dumps({"times": list(chain(*times)), "conversations": sum(counts)}), flush=True)


def measure(name: str, place: str, writers: int, processes: int, seconds: float) -> Measured:
    """Start the replicas, let them begin together, and add up what they did."""
    command = [sys.executable, __file__, "--replica", place, str(writers // processes), "--seconds", str(seconds)]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    said: list[dict[str, Any]] = [json.loads(text) for text in _told_to_begin(children)]
    times = sorted(time for one in said for time in one["times"])
    return Measured(
        store=name,
        writers=writers,
        processes=processes,
        steps_per_second=round(len(times) / seconds, 1),
        step_p50_ms=round(times[len(times) // 2], 2),
        step_p99_ms=round(times[int(len(times) * 0.99)], 2),
        conversations_per_second=round(sum(one["conversations"] for one in said) / seconds, 1),
    )


def commits_per_second(place: str, statement: bytes, seconds: float) -> float:
    """How often a statement is kept by 16 connections at once."""
    import psycopg

    deadline = time.perf_counter() + seconds

    def keep() -> int:
        count = 0
        with psycopg.connect(place, autocommit=True) as connection:
            while time.perf_counter() < deadline:
                connection.execute(statement)
                count += 1
        return count

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return sum(one.result() for one in [threads.submit(keep) for _ in range(CONNECTIONS)]) / seconds


def cost_of_news(place: str, seconds: float) -> dict[str, float]:
    """What it costs to notify in the transaction that writes; the reason why stores do it beside."""
    import psycopg

    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("CREATE TABLE bench (text text)")
    plain = b"INSERT INTO bench VALUES ('a step')"
    notifying = b"WITH kept AS (INSERT INTO bench VALUES ('a step')) SELECT pg_notify('bench', 'a session')"
    return {
        "without": round(commits_per_second(place, plain, seconds)),
        "within": round(commits_per_second(place, notifying, seconds)),
    }


def _told_to_begin(children: list["subprocess.Popen[str]"]) -> list[str]:
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    return [child.communicate()[0] for child in children]


def report(runs: list[Measured], news: dict[str, float], seconds: float, load: float) -> str:
    """The page."""
    rows = "\n".join(
        f"| {one.store} | {one.writers} | {one.processes} | {one.steps_per_second:,.0f} | {one.step_p50_ms:.1f} |"
        f" {one.step_p99_ms:.1f} | {one.conversations_per_second:,.1f} |"
        for one in runs
    )
    return f"""# Sessions a second

Written by `python benchmarks/scale_sessions.py --seconds {seconds:g}`, on {os.cpu_count()} cores
({platform.machine()}, Python {platform.python_version()}; load before it {load:.1f}), PostgreSQL 18 on the same ones
and the same disk. Durable: a step is on disk before it counts. A step is two messages, four events, working memory,
toolbox and usage, some 3 KB; a conversation is a new session, opened, {STEPS_PER_CONVERSATION} steps, closed. The model
that would fill the time between two steps is left out.

| store | writers | processes | steps/s | p50 ms | p99 ms | conversations/s |
|---|--:|--:|--:|--:|--:|--:|
{rows}

Commits a second of {CONNECTIONS} connections that write one small row each: {news["without"]:,.0f}. With a `NOTIFY` in
the same transaction: {news["within"]:,.0f}. So stores send news beside a write, not in it.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each load lasts, twice")
    parser.add_argument("--replica", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.replica:
        asyncio.run(replica(given.replica[0], int(given.replica[1]), given.seconds))
        return
    runs: list[Measured] = []
    load = os.getloadavg()[0]  # of others on the same cores
    with tempfile.TemporaryDirectory() as folder, PostgresServer(durable=True) as server:
        for name in ("SQLite", "PostgreSQL"):
            for writers, processes in LOADS:
                place = server.new_database() if name == "PostgreSQL" else f"{folder}/{writers}-{processes}.db"
                runs.append(measure(name, place, writers, processes, given.seconds))
                print(runs[-1], file=sys.stderr)
        news = cost_of_news(server.new_database(), given.seconds)
        print(news, file=sys.stderr)
    RESULTS.joinpath("scale_sessions.md").write_text(report(runs, news, given.seconds, load), encoding="utf-8")
    figures = {
        "seconds": given.seconds,
        "cores": os.cpu_count(),
        "load": round(load, 1),
        "runs": [asdict(one) for one in runs],
        "commits_per_second": news,
    }
    RESULTS.joinpath("scale_sessions.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
