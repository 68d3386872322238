"""Kills, stops and takeovers, a failing disk, a bad network: what is lost, what is done twice, and what others do.

    python benchmarks/chaos.py [PART ...] [--kills 1000] [--peers-python PYTHON]

Parts are sqlite, postgres, gateway, load, disk, network and peers; without one, all but peers, which needs a Python
that has LangGraph with its checkpointers. Each part is measured by what the tests use, and written into
`results/chaos.json`; the page is made of all that stands there.
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
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.postgres_server import PostgresServer
from tests.gateway.test_kills import killed
from tests.server.test_load import loaded
from tests.stores.test_bad_network import worked
from tests.support.failing_disk import failed
from tests.support.kill_loop import looped

RESULTS = Path(__file__).parent / "results"
PEERS = Path(__file__).with_name("chaos_peers.py")
LENGTHS = range(1, 30)


def sqlite(given: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        found = looped(f"{folder}/s.db", Path(folder), given.kills)
    return asdict(found) | {"broken": found.broken}


def postgres(given: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, PostgresServer(in_memory=True) as server:
        found = looped(server.new_database(), Path(folder), given.kills)
    return asdict(found) | {"broken": found.broken}


def gateway(given: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(XDG_DATA_HOME=f"{folder}/data", TOOLCRIB_CACHE=f"{folder}/cache")
        return vars(killed(Path(folder), given.kills // 5))


def load(given: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return vars(loaded(Path(folder), 12, 24))


def disk(given: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return vars(failed(Path(folder), 3))


def network(given: argparse.Namespace) -> dict[str, Any]:
    async def all_lengths(url: str) -> list[float]:
        return await asyncio.gather(*(worked(url, f"s{one}", "hold back", one) for one in LENGTHS))

    def fault(name: str) -> float:
        return round(asyncio.run(worked(server.new_database(), "s", name)), 2)

    with PostgresServer(in_memory=True) as server:
        waited = asyncio.run(all_lengths(server.new_database()))
        late = [one - length for one, length in zip(waited, LENGTHS, strict=True)]
        return {"late": round(max(late), 2), **{name: fault(name) for name in ("cut", "lose answers", "half-open")}}


def peers(given: argparse.Namespace) -> dict[str, Any]:
    with PostgresServer(in_memory=True) as server:
        command = [given.peers_python, str(PEERS), server.new_database(), str(given.kills)]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    one.__name__: one for one in (sqlite, postgres, gateway, load, disk, network, peers)
}


def report(found: dict[str, Any]) -> str:
    """The page."""
    pages = [
        f"""# Kills, a failing disk, a bad network

Written by `python benchmarks/chaos.py`, on {os.cpu_count()} cores ({platform.machine()}, Python
{platform.python_version()}), beside other work. The tests: [what is promised](../../docs/concepts/promises.md).
"""
    ]
    stores = {"SQLite": found.get("sqlite"), "PostgreSQL": found.get("postgres")}
    if any(stores.values()):
        pages.append("""## Agents killed, stopped and taken over

Agents work in a few sessions of one store: orders, and refunds that the user agrees to. One is killed at no moment in
particular; or it is stopped (SIGSTOP), another one takes its session over, and it wakes; or the other one takes it over
without a stop. *late*: calls that were marked in time and reached the ledger after the next holder had looked into it,
so that the ledger refused them by their fence. *lost*: messages told to be kept; *begun twice*: calls; *used twice*: a
yes.

| store | kills | stops | takeovers | messages | calls | yes | late | lost | begun twice | used twice | otherwise |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|""")
        names = ["kills", "stops", "takeovers", "steps", "calls", "agreed", "late", "lost", "twice", "used_twice"]
        for store, one in stores.items():
            if one:
                cells = " | ".join(f"{one[name]:,}" for name in names)
                pages.append(f"| {store} | {cells} | {len(one['problems']) + one['busy']} |")
    if one := found.get("gateway"):
        pages.append(f"""
## Gateways killed

Gateways are killed while a client makes a call that the user allowed in a terminal, three times at once; the same call
is a new question at the next gateway. The command that approves a changed tool is killed, too; the lock is whole after
that, and what was not approved is held back. *wrong*: calls made twice, or without a question, and broken locks.

| kills | allowed | made | approvals cut off | written by then | wrong |
|--:|--:|--:|--:|--:|--:|
| {one["kills"]} | {one["agreed"]} | {one["made"]} | {one["approvals"]} | {one["completed"]} | {len(one["wrong"])} |""")
    if one := found.get("load"):
        names = ("answered", "503", "leaves early", "reads nothing", "sends half")
        counts = " | ".join(f"{one['seen'].get(name, 0):,}" for name in names)
        descriptors, threads = (" to ".join(map(str, one[name])) for name in ("descriptors", "threads"))
        memory = " to ".join(f"{size / 1e6:.0f} MB" for size in one["memory"])
        pages.append(f"""
## Clients that leave

A server under more messages than it answers, in rounds, from clients that read all, are gone after the first event,
read nothing, or send half a message. What it takes is looked at after the second round and after the last one.

| answered | 503 | left early | read nothing | sent half | descriptors | threads | memory |
|--:|--:|--:|--:|--:|--:|--:|--:|
| {counts} | {descriptors} | {threads} | {memory} |""")
    if one := found.get("disk"):
        pages.append("""
## A disk that fails

Below SQLite, the nth call of a kind fails while a session takes steps, marks calls and uses up a yes; then all is well
again. *told*: the caller got an error; otherwise it was past what matters. *wrong*: something told to be kept is not
there or there twice, a yes is good again, the session stays busy, or the file cannot be used.

| what fails | places | told | wrong |
|---|--:|--:|--:|""")
        for fault, tried in one["tried"].items():
            wrong = sum(line.startswith(f"{fault},") for line in one["wrong"])
            pages.append(f"| {fault} | {tried} | {one['told'].get(fault, 0)} | {wrong} |")
    if one := found.get("network"):
        pages.append(f"""
## A network that fails

A proxy before PostgreSQL. Each session takes 24 steps of four writes; none failed, all are there once.

| what happens | the longest step |
|---|--:|
| nothing is delivered for 1, 2, ... 29 seconds | as long as that, and at most {one["late"]} s more |
| connections are reset | {one["cut"]} s |
| connections are reset before the answer to what was done | {one["lose answers"]} s |
| half-open: the database is gone, and nothing says so | {one["half-open"]} s |""")
    if one := found.get("peers"):
        pages.append(f"""
## LangGraph's checkpointers

Kills at any moment, without stops: a graph of a model and a tool node that writes into the ledger,
`durability="sync"`, resumed with `invoke(None, ...)` by the next process
({one["versions"]}).
A node that was cut off runs again, as LangGraph says: there is no mark of a begun call, so tools must be idempotent.
Nor has a thread an owner: *overtaken* is when two processes go on with one thread at once, each from "the model asked".

| checkpointer | kills | orders | in the ledger twice | twice when overtaken |
|---|--:|--:|--:|--:|""")
        pages.extend(
            f"| {row['store']} | {row['kills']:,} | {row['orders']:,} | {row['twice']} |"
            f" {row['overtaken_twice']} of {row['overtaken']} |"
            for row in one["rows"]
        )
        pages.append("""
By default FastMCP keeps no session, call or confirmation beyond its process, so that there is nothing to compare.""")
    return "\n".join(pages) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--peers-python", default=sys.executable, help="one that has LangGraph and its checkpointers")
    given = parser.parse_args()
    for part in given.parts or [one for one in PARTS if one != "peers"]:
        began = time.monotonic()
        measured = PARTS[part](given)
        print(part, f"{time.monotonic() - began:.0f} s", measured, file=sys.stderr)
        path = RESULTS / "chaos.json"
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        found[part] = measured
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        RESULTS.joinpath("chaos.md").write_text(report(found), encoding="utf-8")


if __name__ == "__main__":
    main()
