"""PostgreSQL away for 1 to 29 seconds, under writers: what callers see of it, and whether anything is lost or doubled.

    python benchmarks/outages.py [--lengths 1-29] [--at-once 6]

Each length has a PostgreSQL of its own; every second one is stopped as a crash stops it, and recovers. Three writers
keep one step after the other in a session each, a fourth opens and closes sessions, and the readiness of a server on
that store is asked all the time. In the end every step that was acknowledged must be there, once.
"""

import argparse
import asyncio
import json
import logging
import os
import platform
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.postgres_server import PostgresServer
from toolcrib.agent.crib import Crib
from toolcrib.catalog.catalog import Catalog
from toolcrib.errors import ToolcribError, UnknownSessionError
from toolcrib.server.app import create_app
from toolcrib.server.services import Served
from toolcrib.serving import Options
from toolcrib.settings import OFFLINE
from toolcrib.stores.store import Store, open_store

RESULTS = Path(__file__).parent / "results"
WRITERS = 3
AFTER_SECONDS = 2.0


@dataclass(slots=True)
class Outage:
    """What was seen of one."""

    seconds: float  # asked for
    crash: bool
    away_seconds: float = 0.0  # from the stop to the moment the server takes connections again
    steps: int = 0
    sessions: int = 0
    errors: list[str] = field(default_factory=list[str])
    late_seconds: float = 0.0  # from the return to the last answer that had waited for it
    not_ready_seconds: float = 0.0  # the longest that readiness took to answer
    lost: int = 0
    twice: int = 0


async def outage(seconds: float, *, crash: bool) -> Outage:
    """Stop a PostgreSQL of our own for some seconds."""
    found = Outage(seconds, crash)
    server = PostgresServer(durable=True, settings={"max_connections": "30"})
    await asyncio.to_thread(server.start)
    try:
        place = await asyncio.to_thread(server.new_database)
        async with open_store(place) as store:
            running = _Load(store, found)
            tasks = [asyncio.create_task(running.write(f"w{number}")) for number in range(WRITERS)]
            tasks.append(asyncio.create_task(running.open_sessions()))
            tasks.append(asyncio.create_task(running.ask_whether_ready(place)))
            await running.warm.wait()
            began = time.monotonic()
            await asyncio.to_thread(server.halt, at_once=crash)
            await asyncio.sleep(max(0.0, seconds - (time.monotonic() - began)))
            await asyncio.to_thread(server.resume)
            running.back = time.monotonic()
            found.away_seconds = round(running.back - began, 1)
            await asyncio.sleep(AFTER_SECONDS)
            running.over = True
            await asyncio.gather(*tasks)
            for id, kept in running.kept.items():
                try:
                    there = list((await store.read(id)).history)
                except UnknownSessionError:
                    there = []
                found.lost += len(set(kept) - set(there))
                found.twice += len(there) - len(set(there))
    finally:
        await asyncio.to_thread(server.stop)
    return found


class _Load:
    def __init__(self, store: Store, found: Outage) -> None:
        self.store = store
        self.found = found
        self.kept: dict[str, list[str]] = {}
        self.back = 0.0
        self.over = False
        self.warm = asyncio.Event()  # all of it is going on
        self.asked = 0

    def _note(self, began: float) -> None:
        if self.found.steps > 10 * WRITERS and self.found.sessions and self.asked:
            self.warm.set()
        if self.back and began < self.back:
            self.found.late_seconds = max(self.found.late_seconds, round(time.monotonic() - self.back, 2))

    async def write(self, id: str) -> None:
        kept = self.kept.setdefault(id, [])
        async with self.store.open(id) as session:
            while not self.over:
                began, step = time.monotonic(), f"{id}-{len(kept)}"
                try:
                    await session.append([step])
                    kept.append(step)
                    self.found.steps += 1
                except ToolcribError as error:
                    self.found.errors.append(f"append after {time.monotonic() - began:.1f} s: {error}")
                    return
                self._note(began)
                await asyncio.sleep(0.02)

    async def open_sessions(self) -> None:
        while not self.over:
            began, id = time.monotonic(), f"s{self.found.sessions}"
            try:
                async with self.store.open(id) as session:
                    await session.append([id])
                self.kept[id] = [id]
                self.found.sessions += 1
            except ToolcribError as error:
                self.found.errors.append(f"open after {time.monotonic() - began:.1f} s: {error}")
                return
            self._note(began)
            await asyncio.sleep(0.05)

    async def ask_whether_ready(self, place: str) -> None:
        served = Served(crib=Crib(Catalog(), model=OFFLINE), store=open_store(place))
        app = create_app(served, Options(warm_up=False, requests_per_second=1000))
        async with (
            served.store,
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client,
        ):
            await served.store.sessions(limit=1)
            while not self.over:
                began = time.monotonic()
                await client.get("/health/ready", timeout=60)
                self.asked += 1
                took = round(time.monotonic() - began, 2)
                self.found.not_ready_seconds = max(self.found.not_ready_seconds, took)
                await asyncio.sleep(0.2)


def report(outages: list[Outage], at_once: int) -> str:
    """The page."""
    rows = "\n".join(
        f"| {one.seconds:g} | {'crash' if one.crash else 'stop'} | {one.away_seconds:.1f} | {one.steps:,} |"
        f" {one.sessions:,} | {len(one.errors)} | {one.lost} | {one.twice} | {one.late_seconds:.2f} |"
        f" {one.not_ready_seconds:.2f} |"
        for one in outages
    )
    return f"""# Outages of PostgreSQL

Written by `python benchmarks/outages.py`, on {os.cpu_count()} cores ({platform.machine()}, Python
{platform.python_version()}), {at_once} outages at a time, each of a PostgreSQL 18 of its own. Three writers and one
that opens sessions go on all the time. *errors*: what callers saw; *lost*, *twice*: steps; *late*: from the return of
the database to the last answer that had waited for it; *ready*: the longest that `/health/ready` took to answer.

| seconds | how | away | steps | sessions | errors | lost | twice | late | ready |
|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|
{rows}
"""


async def measure(lengths: list[int], at_once: int) -> list[Outage]:
    """All of them, some at a time, the longest first."""
    turns = asyncio.Semaphore(at_once)

    async def one(seconds: int) -> Outage:
        async with turns:
            found = await outage(seconds, crash=seconds % 2 == 0)
            print(found, file=sys.stderr)
            return found

    return sorted(await asyncio.gather(*(one(seconds) for seconds in reversed(lengths))), key=lambda one: one.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="1-29", help="in whole seconds, from-to")
    parser.add_argument("--at-once", type=int, default=6)
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    first, _, last = given.lengths.partition("-")
    found = asyncio.run(measure(list(range(int(first), int(last or first) + 1)), given.at_once))
    RESULTS.joinpath("outages.md").write_text(report(found, given.at_once), encoding="utf-8")
    text = json.dumps([asdict(one) for one in found], indent=1)
    RESULTS.joinpath("outages.json").write_text(text + "\n", encoding="utf-8")
    sys.exit(1 if any(one.errors or one.lost or one.twice for one in found) else 0)


if __name__ == "__main__":
    main()
