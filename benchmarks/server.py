"""A server under load: many sessions at once, none loses an event; and its memory over thousands of messages.

    python benchmarks/server.py [--sessions 100] [--messages 5000]

The server is a process of its own on this machine: the reference CMS with the offline brain, so no provider's speed is
in the figures. The client is another process on the same cores. Each stream is held against what the log has.
"""

import argparse
import asyncio
import gc
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2

RESULTS = Path(__file__).parent / "results"
SAID = ("Show me all pages", "znajdź zdjęcie paproci", "thank you!", "list the blog posts", "find an image of a fern")
PER_SESSION = 10  # messages, in the long run
AT_ONCE = 8
LOOKS = 10  # at the memory


@dataclass
class Talk:
    """One message, and what came of it."""

    first_ms: float = 0.0
    total_ms: float = 0.0
    events: int = 0
    trouble: str = ""


@dataclass
class Figures:
    """What was measured."""

    sessions: int
    messages: int
    errors: list[str] = field(default_factory=list[str])
    events: int = 0
    first_event_ms: dict[str, float] = field(default_factory=dict[str, float])
    whole_run_ms: dict[str, float] = field(default_factory=dict[str, float])
    alone_first_event_ms: dict[str, float] = field(default_factory=dict[str, float])
    messages_per_second: float = 0.0
    memory_mb: list[float] = field(default_factory=list[float])
    memory_per_1000_messages_mb: float = 0.0
    blocks: list[int] = field(default_factory=list[int])  # that Python holds, after a collection
    blocks_per_message: float = 0.0


async def talk(http: httpx2.AsyncClient, session: str, text: str) -> Talk:
    """Say something, and check that every event came, once and in order."""
    told = Talk()
    began = time.perf_counter()
    numbers: list[int] = []
    seen: list[dict[str, Any]] = []
    try:
        async with http.stream("POST", f"/api/sessions/{session}/messages", json={"text": text}) as answer:
            if answer.status_code != 200:
                told.trouble = f"status {answer.status_code}"
                return told
            async for number, event in events(answer):
                if not seen:
                    told.first_ms = (time.perf_counter() - began) * 1000
                numbers.append(number)
                seen.append(event)
    except httpx2.HTTPError as error:
        told.trouble = f"{type(error).__name__}: {error}"
        return told
    told.total_ms = (time.perf_counter() - began) * 1000
    told.events = len(seen)
    told.trouble = missing(numbers, seen)
    return told


def missing(numbers: list[int], seen: list[dict[str, Any]]) -> str:
    """What is wrong with a stream; nothing when it is whole."""
    kinds = [event["type"] for event in seen]
    if kinds[:1] != ["run_started"] or kinds[-1:] != ["usage"]:
        return f"began with {kinds[:1]}, ended with {kinds[-1:]}"
    steps = [after - before for before, after in pairwise(numbers)]
    if min(steps, default=1) < 1:
        return "numbers do not grow"
    positions = [number // 100_000 for number, kind in zip(numbers, kinds, strict=True) if kind != "text"]
    if positions != list(range(positions[0], positions[0] + len(positions))):
        return "an event is missing"
    pieces = "".join(event["delta"] for event in seen if event["type"] == "text")
    answered = next((event["text"] for event in seen if event["type"] == "answered"), None)
    return "" if answered is not None and pieces.endswith(answered) else "a piece of text is missing"


async def events(answer: httpx2.Response) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    data = ""
    number = -1
    async for line in answer.aiter_lines():
        name, _, rest = line.partition(": ")
        if name == "data":
            data = rest
        elif name == "id":
            number = int(rest)
        elif not line and data:
            yield number, json.loads(data)
            data = ""


async def new_session(http: httpx2.AsyncClient) -> str:
    return (await http.post("/api/sessions")).json()["id"]


async def held(http: httpx2.AsyncClient, server: int) -> tuple[float, int]:
    """What the server holds: resident memory, as the system tells, and blocks, as its Python does."""
    text = (await http.get("/metrics")).text
    blocks = next(line for line in text.splitlines() if line.startswith("bench_allocated_blocks "))
    return resident_mb(server), int(float(blocks.split()[1]))


def resident_mb(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1024


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)

    def at(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)

    return {"p50": at(0.5), "p99": at(0.99), "max": round(ordered[-1], 1)}


def client(address: str) -> httpx2.AsyncClient:
    unlimited = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx2.AsyncClient(base_url=address, timeout=300, limits=unlimited)


async def many_at_once(address: str, found: Figures) -> None:
    """All sessions say something at the same moment, several times."""
    async with client(address) as http:
        warm = await new_session(http)
        alone = [await talk(http, warm, SAID[number % len(SAID)]) for number in range(20)]
        found.alone_first_event_ms = spread([one.first_ms for one in alone[5:]])
        ids = [await new_session(http) for _ in range(found.sessions)]
        for text in SAID[:3]:
            told = await asyncio.gather(*(talk(http, one, text) for one in ids))
            found.errors += [one.trouble for one in told if one.trouble]
            found.events += sum(one.events for one in told)
            if text == SAID[0]:
                found.first_event_ms = spread([one.first_ms for one in told])
                found.whole_run_ms = spread([one.total_ms for one in told])
        found.errors += [one for one in await asyncio.gather(*(log_trouble(http, one) for one in ids)) if one]


async def log_trouble(http: httpx2.AsyncClient, session: str) -> str:
    """Whether the log of a session is as whole as the streams were."""
    seen = (await http.get(f"/api/sessions/{session}")).json()
    ids = [line["id"] for line in seen["events"]]
    return "" if ids == [100_000 * at for at in range(len(ids))] and len(ids) > 6 else "the log has gaps"


async def long_run(address: str, found: Figures, server: int) -> None:
    """Thousands of messages, some at once, in sessions that come and go; the memory is looked at now and then.

    In a server of its own: what a burst before it had freed would hide what is not given back.
    """
    left = iter(range(found.messages // PER_SESSION))
    done = 0
    began = time.perf_counter()
    looks: list[tuple[int, float, int]] = []
    http = client(address)

    async def worker() -> None:
        nonlocal done
        for _ in left:
            session = await new_session(http)
            for number in range(PER_SESSION):
                told = await talk(http, session, SAID[number % len(SAID)])
                found.errors += [told.trouble] if told.trouble else []
                found.events += told.events
                done += 1
                if done % max(1, found.messages // LOOKS) == 0:
                    at = done
                    looks.append((at, *await held(http, server)))
                    print(f"{at:6,} messages, {looks[-1][1]:.1f} MB, {looks[-1][2]:,} blocks", file=sys.stderr)

    async with http:
        await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    found.messages_per_second = round(done / (time.perf_counter() - began), 1)
    found.memory_mb = [round(memory, 1) for _, memory, _ in looks]
    found.blocks = [blocks for _, _, blocks in looks]
    # The first look is left out: caches fill in the beginning.
    found.memory_per_1000_messages_mb = round(1000 * rise([(at, memory) for at, memory, _ in looks[1:]]), 2)
    found.blocks_per_message = round(rise([(at, float(blocks)) for at, _, blocks in looks[1:]]), 2)


def rise(points: list[tuple[int, float]]) -> float:
    """The slope of a line through the points, by least squares."""
    if len(points) < 2:
        return 0.0
    middle = sum(at for at, _ in points) / len(points)
    mean = sum(value for _, value in points) / len(points)
    return sum((at - middle) * (value - mean) for at, value in points) / sum((at - middle) ** 2 for at, _ in points)


def serve(folder: str) -> None:
    """The server's own process: tells its address, and serves until it is ended."""
    from prometheus_client import Gauge

    from toolcrib.agent.crib import Crib
    from toolcrib.server.app import create_app, listen
    from toolcrib.server.services import Served
    from toolcrib.serving import Options, address, bind_socket
    from toolcrib.stores.sqlite.store import SqliteStore
    from toolcrib_cms import build

    cms = build(folder)
    cms.render_site("/site/")
    options = Options(port=0, requests_per_second=1e6, burst=1_000_000)
    served = Served(crib=Crib(cms.catalog), store=SqliteStore(Path(folder) / "sessions.db"))
    app = create_app(served, options)
    blocks = Gauge("bench_allocated_blocks", "Blocks that Python holds.", registry=app.state.services.metrics.registry)
    blocks.set_function(allocated)
    taken = bind_socket(options)
    print(address(options, taken), flush=True)
    listen(app, options, taken)


def allocated() -> float:
    gc.collect()
    return float(sys.getallocatedblocks())


@contextmanager
def served() -> Generator[tuple[str, int]]:
    """A new server, its address and its process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--serve", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                yield server.stdout.readline().strip(), server.pid
            finally:
                server.terminate()


def report(found: Figures) -> str:
    kept = "none" if not found.errors else f"{len(found.errors)}, such as {found.errors[0]}"
    first, whole, alone = found.first_event_ms, found.whole_run_ms, found.alone_first_event_ms
    memory = found.memory_mb
    return f"""# Server

Written by `python benchmarks/server.py --sessions {found.sessions} --messages {found.messages}`, on {os.cpu_count()}
cores ({platform.machine()}, Python {platform.python_version()}), client and server on the same ones. The reference CMS,
offline brain.

| what | measured |
|---|--:|
| sessions streaming at the same moment | {found.sessions} |
| errors, lost or repeated events, gaps in logs | {kept} |
| events received | {found.events:,} |
| first event, {found.sessions} at once: p50 / p99 / max | {first["p50"]:,} / {first["p99"]:,} / {first["max"]:,} ms |
| whole run, {found.sessions} at once: p50 / p99 / max | {whole["p50"]:,} / {whole["p99"]:,} / {whole["max"]:,} ms |
| first event, one after the other: p50 / p99 | {alone["p50"]:,} / {alone["p99"]:,} ms |
| messages in the long run, {AT_ONCE} at once | {found.messages:,} |
| messages a second | {found.messages_per_second:,} |
| resident memory after each tenth | {", ".join(f"{one:.0f}" for one in memory)} MB |
| its growth over 1,000 messages, from the second tenth on | {found.memory_per_1000_messages_mb} MB |
| blocks that Python holds after each tenth, in thousands | {", ".join(f"{one / 1000:.0f}" for one in found.blocks)} |
| their growth a message, from the second tenth on | {found.blocks_per_message} |

Every stream is checked: it begins with `run_started`, ends with `usage`, its numbers grow, no position of the log is
missing, and its pieces of text make the answer. At the same moment means that all requests are sent before the first is
answered: the last of them waits for the others, so p99 is the time in which one process begins all of them.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--messages", type=int, default=5_000)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.serve)
        return
    found = Figures(sessions=asked.sessions, messages=asked.messages)
    with served() as (address, _):
        asyncio.run(many_at_once(address, found))
    with served() as (address, server):
        asyncio.run(long_run(address, found, server))
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "server.json").write_text(json.dumps(asdict(found), indent=2) + "\n", encoding="utf-8")
    (asked.out / "server.md").write_text(report(found), encoding="utf-8")
    print(report(found))
    sys.exit(2 if found.errors else 0)


if __name__ == "__main__":
    main()
