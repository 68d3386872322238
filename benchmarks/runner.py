"""What the runner costs a step beyond Pydantic AI itself, at 45, 1,000 and 10,000 tools: printed, in milliseconds.

    python benchmarks/runner.py

A scripted model calls one pinned tool eleven times and answers. *Bare* is a Pydantic AI agent with a `CribToolset` and
nothing kept; *ours* is the runner with its events, memory, report and a SQLite store, once durable and once not.
"""

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

from pydantic_ai import Agent

from toolcrib.agent.crib import Crib
from toolcrib.agent.runner import run
from toolcrib.agent.scripted import scripted_model
from toolcrib.agent.toolset import CribToolset
from toolcrib.catalog import Catalog
from toolcrib.discovery.search_surface import search_surface
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.index import ToolIndex
from toolcrib.stores.sqlite import SqliteStore
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

STEPS = 12
TURNS = 9
SIZES = (45, 1_000, 10_000)
SAID = (*[("tool_0", {"text": "x"})] * (STEPS - 1), "Done.")


async def call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult.of("ok")


def catalogue(size: int) -> Catalog:
    """So many tools that do nothing."""
    parameters = {"type": "object", "properties": {"text": {"type": "string"}}}
    return Catalog(
        Tool(name=f"tool_{number}", description=f"Do thing number {number}.", parameters=parameters, call=call)
        for number in range(size)
    )


async def bare(catalog: Catalog, index: ToolIndex) -> float:
    """Seconds of one turn without the runner."""
    toolbox = Toolbox(catalog, index, surface=search_surface, pinned=["tool_0"])
    agent = Agent(scripted_model(*SAID), toolsets=[CribToolset(toolbox)])
    began = perf_counter()
    async with agent.run_stream_events("Go") as events:
        async for _ in events:
            pass
    return perf_counter() - began


async def ours(catalog: Catalog, index: ToolIndex, store: SqliteStore) -> float:
    """Seconds of one turn with it."""
    crib = Crib(catalog, model=scripted_model(*SAID), index=index, pinned=["tool_0"])
    async with store.open() as session:
        began = perf_counter()
        await run(session, "Go", crib=crib)
        return perf_counter() - began


async def main() -> None:
    for size in SIZES:
        catalog = catalogue(size)
        index = ToolIndex(catalog)
        alone = median([await bare(catalog, index) for _ in range(TURNS)])
        with tempfile.TemporaryDirectory() as folder:
            for durable in (False, True):
                async with SqliteStore(Path(folder) / f"{durable}.db", durable=durable) as store:
                    took = median([await ours(catalog, index, store) for _ in range(TURNS)])
                kept = "durable" if durable else "not durable"
                print(f"{size:6,} tools, {kept:11}: {(took - alone) / STEPS * 1000:5.2f} ms a step beyond", end="")
                print(f" {alone / STEPS * 1000:.2f} ms of Pydantic AI")


if __name__ == "__main__":
    asyncio.run(main())
