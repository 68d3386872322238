"""What the runner costs a step beyond Pydantic AI itself, at 45, 1,000 and 10,000 tools.

    python benchmarks/runner.py              # into benchmarks/results/runner.md and .json

A scripted model calls one pinned tool eleven times and answers. *Bare* is a Pydantic AI agent with a `CribToolset` and
nothing kept; *ours* is the runner with its events, memory, report and a SQLite store, once durable and once not. The
three take turns, so that whatever else the machine does hits all of them. Exit status 1 means that a promise at the end
of the page is broken.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

from pydantic_ai import Agent

from benchmarks import report
from toolcrib.agent.crib import Crib
from toolcrib.agent.runner import run
from toolcrib.agent.toolset import CribToolset
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.index import ToolIndex
from toolcrib.stores.sqlite.store import SqliteStore
from toolcrib.testing import scripted_model
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

RESULTS = Path(__file__).parent / "results"
STEPS = 12
TURNS = 25
MOST_MS = 10  # a step, beyond Pydantic AI's own
MOST_GROWTH_MS = 2  # from the smallest catalog to the largest
SIZES = (45, 1_000, 10_000)
SAID = (*[("tool_0", {"text": "x"})] * (STEPS - 1), "Done.")


async def call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult.of("ok")


def catalog_of_size(size: int) -> Catalog:
    """So many tools that do nothing."""
    parameters = {"type": "object", "properties": {"text": {"type": "string"}}}
    return Catalog(
        Tool(name=f"tool_{number}", description=f"Do thing number {number}.", parameters=parameters, call=call)
        for number in range(size)
    )


@dataclass(frozen=True)
class Took:
    """Milliseconds a step: of the processor in the median, and of the clock in the median and at least."""

    cpu: float
    wall: float
    least: float

    def beyond(self, other: "Took") -> "Took":
        return Took(self.cpu - other.cpu, self.wall - other.wall, self.least - other.least)


@dataclass(frozen=True)
class Measured:
    """One size of the catalog."""

    tools: int
    bare: Took
    not_durable: Took  # both beyond the bare agent
    durable: Took


async def bare(catalog: Catalog, index: ToolIndex) -> None:
    """One turn without the runner."""
    toolbox = Toolbox(catalog, index, surface=search_surface, pinned=["tool_0"])
    agent = Agent(scripted_model(*SAID), toolsets=[CribToolset(toolbox)])
    async with agent.run_stream_events("Go") as events:
        async for _ in events:
            pass


async def ours(catalog: Catalog, index: ToolIndex, store: SqliteStore) -> None:
    """One turn with it."""
    crib = Crib(catalog, model=scripted_model(*SAID), index=index, pinned=["tool_0"])
    async with store.open() as session:
        await run(session, "Go", crib=crib)


async def measured(size: int, turns: int) -> Measured:
    """The three ways, taking turns; the first turn of each warms it up."""
    catalog = catalog_of_size(size)
    index = ToolIndex(catalog)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            SqliteStore(Path(folder) / "quick.db", durable=False) as quick,
            SqliteStore(Path(folder) / "durable.db", durable=True) as durable,
        ):
            ways: list[Callable[[], Awaitable[None]]] = [
                lambda: bare(catalog, index),
                lambda: ours(catalog, index, quick),
                lambda: ours(catalog, index, durable),
            ]
            times: list[list[tuple[float, float]]] = [[], [], []]
            for turn in range(turns + 1):
                for way, taken in zip(ways, times, strict=True):
                    wall, cpu = perf_counter(), process_time()
                    await way()
                    if turn:
                        taken.append((perf_counter() - wall, process_time() - cpu))
    alone, not_durable, kept = (took(taken) for taken in times)
    return Measured(size, alone, not_durable.beyond(alone), kept.beyond(alone))


def took(times: list[tuple[float, float]]) -> Took:
    a_step = 1_000 / STEPS
    walls, cpus = [wall for wall, _ in times], [cpu for _, cpu in times]
    return Took(median(cpus) * a_step, median(walls) * a_step, min(walls) * a_step)


Promise = tuple[str, str, bool | None]
KEPT = {True: "yes", False: "**no**", None: "not judged: the machine is busy"}


def promises(found: list[Measured], load: float) -> list[Promise]:
    """What was promised, what was measured, and whether it holds; the clock tells only where nothing else runs."""
    idle = load <= (os.cpu_count() or 1)
    cpu = max(max(one.not_durable.cpu, one.durable.cpu) for one in found)
    least = max(max(one.not_durable.least, one.durable.least) for one in found)
    growth = found[-1].durable.cpu - found[0].durable.cpu
    return [
        (f"under {MOST_MS} ms of the processor a step, at every size", f"{cpu:.1f} ms at most", cpu < MOST_MS),
        (f"under {MOST_MS} ms by the clock", f"{least:.1f} ms at most", least < MOST_MS if idle else None),
        ("independent of the size of the catalog", f"{growth:+.1f} ms of the processor", growth < MOST_GROWTH_MS),
    ]


def page(found: list[Measured], kept: list[Promise], *, load: float, turns: int) -> str:
    head = ["tools", "", "processor, median", "clock, median", "clock, least"]
    rows: list[list[object]] = []
    for one in found:
        for label, taken in (
            ("Pydantic AI with the toolset", one.bare),
            ("+ runner, not durable", one.not_durable),
            ("+ runner, durable", one.durable),
        ):
            rows.append([f"{one.tools:,}", label, *(f"{value:.2f}" for value in (taken.cpu, taken.wall, taken.least))])
    told = [["promise", "measured", "kept"], *([a, b, KEPT[good]] for a, b, good in kept)]
    return "\n\n".join(
        [
            "# The runner",
            f"Written by `python benchmarks/runner.py`: milliseconds a step, of {turns} turns of {STEPS} steps each. A "
            "scripted model, so that nothing waits for a provider. The rows with + say what comes on top of the "
            f"first. The machine has {os.cpu_count()} cores and had a load of {load:.1f} when this was measured: "
            "the clock counts what others do on it as well, the processor's time does not.",
            report.markdown([head, *rows]),
            "## What was promised",
            report.markdown(told),
        ]
    )


def main() -> int:
    """Measure every size, then write the page and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS / "runner", help="path of the page, without suffix")
    parser.add_argument("--turns", type=int, default=TURNS)
    given = parser.parse_args()
    found = [asyncio.run(measured(size, given.turns)) for size in SIZES]
    load = os.getloadavg()[0]
    kept = promises(found, load)
    content = {
        "load": load,
        "sizes": [asdict(one) for one in found],
        "promises": [{"promise": a, "measured": b, "kept": good} for a, b, good in kept],
    }
    given.out.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    given.out.with_suffix(".md").write_text(page(found, kept, load=load, turns=given.turns) + "\n", encoding="utf-8")
    print(given.out.with_suffix(".md").read_text("utf-8"))
    return 1 if any(good is False for _, _, good in kept) else 0


if __name__ == "__main__":
    sys.exit(main())
