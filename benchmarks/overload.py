"""A server that gets more messages than it can answer: who is answered, how soon, and who is told to come again.

    python benchmarks/overload.py [--seconds 20] [--times 3]

The reference CMS with the offline brain, in a process of its own; the client shares its cores. First messages are
sent one after the other, eight at a time, to see how many a second are answered; then three times as many arrive each
second, whether or not earlier ones were answered. Once without a limit on the wait, and with two.
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
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx2

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.server import SAID, client, new_session, spread, talk

RESULTS = Path(__file__).parent / "results"
AT_ONCE = 8


@dataclass(slots=True)
class Overload:
    """What was measured under one limit."""

    longest_wait_seconds: float | None
    answered_alone: float = 0.0  # a second, eight at a time
    arrived: int = 0
    answered: int = 0
    refused: int = 0
    retry_after: list[int] = field(default_factory=list[int])  # the least and the most that was asked for
    whole_ms: dict[str, float] = field(default_factory=dict[str, float])
    health_ms: dict[str, float] = field(default_factory=dict[str, float])
    troubles: list[str] = field(default_factory=list[str])


def serve(folder: str, longest_wait_seconds: float) -> None:
    """The server's own process."""
    from toolcrib.agent.crib import Crib
    from toolcrib.server.app import create_app, listen
    from toolcrib.server.services import Served
    from toolcrib.serving import Options, address, bind_socket
    from toolcrib.stores.sqlite.store import SqliteStore
    from toolcrib_cms import build

    options = Options(
        port=0,
        requests_per_second=1e6,
        burst=1_000_000,
        most_runs=100_000,
        most_connections=100_000,
        longest_wait_seconds=longest_wait_seconds,
    )
    store = SqliteStore(Path(folder) / "sessions.db", durable=False)
    app = create_app(Served(crib=Crib(build(folder).catalog), store=store), options)
    bound = bind_socket(options)
    print(address(options, bound), flush=True)
    listen(app, options, bound)


@contextmanager
def served(longest_wait_seconds: float | None) -> Generator[str]:
    """The address of a new server."""
    limit = "inf" if longest_wait_seconds is None else str(longest_wait_seconds)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--serve", folder, "--wait", limit]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                yield server.stdout.readline().strip()
            finally:
                server.terminate()


async def measure(address: str, found: Overload, seconds: float, times: float) -> None:
    """Find what it answers, then send more."""
    async with client(address) as http:
        for _ in range(600):
            if (await http.get("/health/ready")).status_code == 200:
                break
            await asyncio.sleep(0.1)
        sessions = [await new_session(http) for _ in range(AT_ONCE)]
        await asyncio.gather(*(talk(http, session, text) for session, text in zip(sessions, SAID, strict=False)))
        began, done = time.perf_counter(), 0

        async def one_after_the_other(session: str) -> None:
            nonlocal done
            while time.perf_counter() - began < seconds / 2:
                await talk(http, session, SAID[done % len(SAID)])
                done += 1

        await asyncio.gather(*(one_after_the_other(session) for session in sessions))
        found.answered_alone = round(done / (time.perf_counter() - began), 1)
        found.arrived = round(found.answered_alone * times * seconds)
        sessions = [await new_session(http) for _ in range(found.arrived)]
        whole: list[float] = []
        health: list[float] = []
        over = asyncio.Event()

        async def message(number: int) -> None:
            begun = time.perf_counter()
            path = f"/api/sessions/{sessions[number]}/messages"
            async with http.stream("POST", path, json={"text": SAID[number % len(SAID)]}) as answer:
                if answer.status_code == 503:
                    found.refused += 1
                    after = int(answer.headers["retry-after"])
                    found.retry_after = [min([*found.retry_after, after]), max([*found.retry_after, after])]
                    return
                text = (await answer.aread()).decode()
            if "event: usage" not in text or "event: failed" in text:
                found.troubles.append(text[-200:])
            found.answered += 1
            whole.append((time.perf_counter() - begun) * 1000)

        async def ask_health() -> None:
            async with httpx2.AsyncClient(base_url=address, timeout=60) as other:
                while not over.is_set():
                    begun = time.perf_counter()
                    await other.get("/health")
                    health.append((time.perf_counter() - begun) * 1000)
                    await asyncio.sleep(0.1)

        asking = asyncio.create_task(ask_health())
        began = time.perf_counter()
        tasks: list[asyncio.Task[None]] = []
        for number in range(found.arrived):
            await asyncio.sleep(max(0.0, began + number * seconds / found.arrived - time.perf_counter()))
            tasks.append(asyncio.create_task(message(number)))
        await asyncio.gather(*tasks)
        over.set()
        await asking
        found.whole_ms, found.health_ms = spread(whole), spread(health)


def report(runs: list[Overload], seconds: float, times: float) -> str:
    """The page."""
    rows = "\n".join(
        f"| {f'{one.longest_wait_seconds:g} s' if one.longest_wait_seconds is not None else 'none'} |"
        f" {one.answered_alone} | {one.arrived:,} | {one.answered:,} | {one.refused:,} |"
        f" {'-'.join(map(str, one.retry_after)) or '-'} | {one.whole_ms['p50'] / 1000:.1f} |"
        f" {one.whole_ms['p99'] / 1000:.1f} | {one.whole_ms['max'] / 1000:.1f} | {one.health_ms['p99']:.0f} |"
        for one in runs
    )
    return f"""# Overload

Written by `python benchmarks/overload.py --seconds {seconds:g} --times {times:g}`, on {os.cpu_count()} cores
({platform.machine()}, Python {platform.python_version()}), client and server on the same ones, and others' work
beside them. The reference CMS, offline brain. *Alone*: messages answered a second, eight at a time. Then {times:g}
times as many arrive each second, for {seconds:g} s; whole turns in seconds.

| limit on the wait | alone | arrived | answered | refused | Retry-After | turn p50 | p99 | max | `/health` p99 ms |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{rows}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--times", type=float, default=3.0)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--wait", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.wait)
        return
    runs: list[Overload] = []
    for limit in (None, 10.0, 3.0):
        runs.append(Overload(limit))
        with served(limit) as address:
            asyncio.run(measure(address, runs[-1], given.seconds, given.times))
        print(runs[-1], file=sys.stderr)
    RESULTS.joinpath("overload.md").write_text(report(runs, given.seconds, given.times), encoding="utf-8")
    text = json.dumps([asdict(one) for one in runs], indent=1)
    RESULTS.joinpath("overload.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
