"""Speed and memory at 100, 1k, 10k and 100k tools, on one thread; FastMCP's search beside ours at 5k.

    python benchmarks/latency.py                       # into benchmarks/results/latency.md and .json
    python benchmarks/latency.py --sizes 100,1000
    python benchmarks/latency.py --one 1000 --python   # here, without the compiled loops

Tools are the real MCP catalog; beyond its 13,017, copies with other names and a word more. Each size runs in a
process of its own, so that memory means what that many tools add to an interpreter that has everything imported.
"""

import argparse
import ctypes
import gc
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread for everybody; numpy reads it when it is imported
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

if "--python" in sys.argv:
    sys.modules["toolcrib.search.kernels._loops"] = None  # pyright: ignore[reportArgumentType] - as where no compiler was

from benchmarks import data, report
from benchmarks.ours import Toolcrib
from benchmarks.peers import Arm, FastMCP
from toolcrib.evals.retrieval import percentile
from toolcrib.search.kernels import IS_COMPILED
from toolcrib.search.text import split_request
from toolcrib.tools.tool import Tool

RESULTS = Path(__file__).parent / "results"
SIZES = (100, 1_000, 10_000, 100_000)
BESIDE_FASTMCP = 5_000
IN_PYTHON = 1_000
QUERIES = 500
ADDED = 20
PEER_QUERIES = 100


def main() -> None:
    """Measure every size in a fresh process, then write the page and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=list(SIZES))
    parser.add_argument("--out", type=Path, default=RESULTS / "latency", help="path of the page, without suffix")
    parser.add_argument("--one", type=int, help="measure this size here and print JSON")
    parser.add_argument("--python", action="store_true", help="with --one: without the compiled loops")
    parser.add_argument("--ratio", action="store_true", help="compare with FastMCP here and print JSON")
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(ours_at(chosen.one)))
    elif chosen.ratio:
        print(json.dumps(beside_fastmcp(BESIDE_FASTMCP)))
    else:
        figures = [in_fresh_process("--one", str(size)) for size in chosen.sizes]
        write(chosen.out, figures, in_fresh_process("--ratio"), in_fresh_process("--one", str(IN_PYTHON), "--python"))


def ours_at(size: int) -> dict[str, Any]:
    """Build, search, add and weigh an index of `size` tools."""
    tools, queries = tools_of_size(size + ADDED), requests(QUERIES)
    loaded = build(Toolcrib, tools[:1])  # imports, model and thread pools are there before memory counts
    loaded.search(queries[0])
    before = memory_mb()
    started = perf_counter()
    arm = build(Toolcrib, tools[:size])
    arm.search(queries[0])
    built = perf_counter() - started
    times = timed(arm, queries)
    weighed = memory_mb() - before
    added = [added_visible_ms(arm, tool) for tool in tools[size:]]
    return {
        "tools": size,
        "build_seconds": built,
        "p50_ms": percentile(times, 50),
        "p99_ms": percentile(times, 99),
        "one_errand_p50_ms": percentile(
            [ms for ms, query in zip(times, queries, strict=True) if not split_request(query)], 50
        ),
        "add_visible_p50_ms": percentile(added, 50),
        "add_visible_max_ms": max(added),
        "memory_mb": weighed,
        "memory_after_adding_mb": memory_mb() - before,
    }


def beside_fastmcp(size: int) -> dict[str, Any]:
    """The same requests to both, one after the other, so that noise meets both."""
    tools, queries = tools_of_size(size), requests(PEER_QUERIES)
    mine, theirs = timed(build(Toolcrib, tools), queries), timed(build(FastMCP, tools), queries)
    p50, peer = percentile(mine, 50), percentile(theirs, 50)
    return {"tools": size, "p50_ms": p50, "fastmcp_p50_ms": peer, "ratio": peer / p50}


def build(make: Callable[[], Any], tools: Sequence[Tool]) -> Any:
    arm = make()
    arm.build(tools)
    return arm


def timed(arm: Arm, queries: Sequence[str]) -> list[float]:
    for query in queries[:20]:  # caches fill as they would in any process that serves
        arm.search(query)
    times = []
    for query in queries:
        started = perf_counter()
        arm.search(query)
        times.append((perf_counter() - started) * 1000)
    return times


def added_visible_ms(arm: Toolcrib, tool: Tool) -> float:
    """From `catalog.add` to the end of a search that finds the tool by its exact name."""
    started = perf_counter()
    arm.catalog.add(tool)
    found = arm.search(tool.name)
    took = (perf_counter() - started) * 1000
    if tool.name not in found:
        raise RuntimeError(f"{tool.name} was added and is not found: {found}")
    return took


def tools_of_size(size: int) -> list[Tool]:
    """`size` tools: the real ones in an order of their own, then variations of them."""
    real = list(data.load(data.CATALOG).tools)
    random.Random(0).shuffle(real)
    tools = real[:size]
    turn = 0
    while len(tools) < size:
        turn += 1
        word = f"v{turn}"
        tools += [variation(tool, word) for tool in real[: size - len(tools)]]
    return tools


def variation(tool: Tool, word: str) -> Tool:
    """Another tool with nearly the same text."""
    name = f"{tool.name[: data.MAX_NAME - 5]}-{word}"
    return replace(tool, name=name, description=f"{tool.description} ({word} of {tool.category or 'it'})")


def requests(count: int) -> list[str]:
    """Real requests in many languages, evenly from the open sets."""
    share = -(-count // len(data.OPEN_SETS))
    texts = [query.text for name in data.OPEN_SETS for query in data.load(name, limit=share).queries]
    random.Random(0).shuffle(texts)
    return texts[:count]


def memory_mb() -> float:
    """Resident memory of this process, after giving back what is free."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def in_fresh_process(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, check=True)
    figures = json.loads(done.stdout)
    print(figures, file=sys.stderr, flush=True)
    return figures


def write(out: Path, figures: Sequence[dict[str, Any]], ratio: dict[str, Any], python: dict[str, Any]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    kept = {"compiled": IS_COMPILED, "sizes": list(figures), "fastmcp": ratio, "python": python}
    out.with_suffix(".json").write_text(json.dumps(kept, indent=1) + "\n")
    head = [
        "tools",
        "build s",
        "p50 ms",
        "p99 ms",
        "one errand, p50 ms",
        "add one, visible p50 ms",
        "most ms",
        "memory MB",
        "after adding MB",
    ]
    rows = [[f"{row['tools']:,}", *(f"{value:.2f}" for value in list(row.values())[1:])] for row in figures]
    page = [
        "# Latency and memory",
        "Written by `python benchmarks/latency.py`; one thread, query embedding included, requests in 30 languages; "
        f"{'with the compiled loops' if IS_COMPILED else 'in Python alone: there was no C compiler'}.",
        report.markdown([head, *rows]),
        "Half of the requests are stories of several errands, each of which is searched too; *one errand* is the rest. "
        "*After adding*: when more tools have come one by one.",
        f"p50 at {ratio['tools']:,} tools: {ratio['p50_ms']:.2f} ms; FastMCP's BM25 search: "
        f"{ratio['fastmcp_p50_ms']:.1f} ms, {ratio['ratio']:.0f} times as long.",
        f"Where there was no C compiler, at {python['tools']:,} tools: p50 {python['p50_ms']:.2f} ms, one errand "
        f"{python['one_errand_p50_ms']:.2f} ms, {python['build_seconds']:.2f} s to build.",
    ]
    out.with_suffix(".md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
