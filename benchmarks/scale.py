"""Many tools in PostgreSQL: how well they are found, how fast, and what they take; the in-process index beside it.

    python benchmarks/scale.py quality                 # Recall@5 of both indexes on every open set
    python benchmarks/scale.py size 100000             # build, search and weigh that many tools
    python benchmarks/scale.py beside 100000           # the in-process index: built, and loaded by the next process
    python benchmarks/scale.py catalog 10000         # the shared catalog: register, start a replica, follow changes
    python benchmarks/scale.py report                  # the page, from what was measured so far

Each verb keeps its figures in benchmarks/results/scale.json and writes the page anew, so that an hour of building a
million tools is not lost with the next run. Tools are the MCP catalog and variations of it, as in `latency.py`.
PostgreSQL runs on the same machine, without fsync: the figures tell what the work costs, not what a disk does.
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psycopg

from benchmarks import data, latency, report
from benchmarks.postgres_server import PostgresServer
from toolcrib.evals.retrieval import percentile
from toolcrib.postgres.index.index import PostgresIndex
from toolcrib.postgres.index.rows import slow_indexes, table_of
from toolcrib.postgres.index.writer import drop_slow_indexes
from toolcrib.search.query import SearchOptions
from toolcrib.tools.tool import Tool

RESULTS = Path(__file__).parent / "results" / "scale.json"
TENANT = "bench"
DIMENSIONS = 256
LOADERS = 2
CLIENTS = 8
CHANGES = 100
SENTENCES = 250
REPEATS = 3  # of a search; the quickest is taken, because the machine has other work
NAMES = {"lexemes": "full_text", "whole": "vector_graph"}
QUALITY_QUERIES = 1_000  # of each set
SETTINGS = {
    "shared_buffers": "2GB",
    "maintenance_work_mem": "3GB",
    "max_parallel_maintenance_workers": "1",
    "max_wal_size": "8GB",
    "autovacuum": "off",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["quality", "size", "beside", "catalog", "report", "replica", "process"])
    parser.add_argument("what", nargs="?", help="how many tools; for `replica`, the database")
    parser.add_argument("folder", nargs="?", type=Path, help="for `process`: where the index is stored")
    parser.add_argument("--queries", type=int, default=QUALITY_QUERIES)
    chosen = parser.parse_args()
    if chosen.verb == "replica":
        print(json.dumps(replica(chosen.what)))
        return
    if chosen.verb == "process":
        print(json.dumps(process(int(chosen.what), chosen.folder)))
        return
    if chosen.verb == "quality":
        for name in data.OPEN_SETS:
            keep("quality", name, quality(name, chosen.queries))
    elif chosen.verb == "size":
        keep("postgres", chosen.what, size(int(chosen.what)))
    elif chosen.verb == "catalog":
        keep("catalog", chosen.what, asyncio.run(shared_catalog(int(chosen.what))))
    elif chosen.verb == "beside":
        keep("in_process", chosen.what, beside(int(chosen.what)))
    write_page()


def quality(name: str, limit: int) -> dict[str, Any]:
    """Recall@5 of one set, in memory and in PostgreSQL."""
    from toolcrib.catalog.catalog import Catalog
    from toolcrib.search.index import ToolIndex

    held = data.load(name, limit=limit)
    with PostgresServer(settings={"shared_buffers": "512MB"}) as server:
        there = PostgresIndex(server.new_database(), tenant=TENANT, options=SearchOptions(abstain=False))
        there.fill(held.tools)
        here = ToolIndex(Catalog(held.tools), options=SearchOptions(abstain=False))
        pairs = [(here.search(query.text).names, there.search(query.text).names) for query in held.queries]
        there.close()
    relevant = [query.relevant for query in held.queries]
    return {
        "tools": len(held.tools),
        "queries": len(pairs),
        "in_process": mean(len(right & set(one)) / len(right) for right, (one, _) in zip(relevant, pairs, strict=True)),
        "postgres": mean(len(right & set(two)) / len(right) for right, (_, two) in zip(relevant, pairs, strict=True)),
        "same_first": mean(float(one[:1] == two[:1]) for one, two in pairs),
    }


def size(tools: int) -> dict[str, Any]:
    """Build an index of so many tools, and measure it."""
    with PostgresServer(settings=SETTINGS) as server:
        url = server.new_database()
        figures: dict[str, Any] = {"tools": tools, **build(url, tools), **weight(url)}
        say(figures)
        return {**figures, **in_fresh_process(__file__, "replica", url)}


def beside(tools: int) -> dict[str, Any]:
    """What one process takes that builds the index of so many tools, and the next one, which loads it."""
    with TemporaryDirectory() as folder:
        built = in_fresh_process(__file__, "process", str(tools), folder)
        loaded = in_fresh_process(__file__, "process", str(tools), folder)
        stored = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
    if built.pop("answers") != loaded.pop("answers"):
        raise RuntimeError("the loaded index gives other answers")
    figures = {f"{name}_{state}": one[name] for name in built for state, one in (("built", built), ("loaded", loaded))}
    return {"tools": tools, **figures, "file_mb": stored}


def process(tools: int, folder: Path) -> dict[str, Any]:
    """A process that opens the index of so many tools, searches and adds; times are of the processor."""
    from toolcrib.catalog.catalog import Catalog
    from toolcrib.search.index import ToolIndex

    held = latency.tools_of_size(tools + CHANGES)
    # Real requests, and sentences of tools that are there, for the searches in which words alone decide.
    queries = [
        *latency.requests(latency.QUERIES),
        *(one.description[:80] for one in held[: tools : tools // SENTENCES]),
    ]
    catalog = Catalog(held[:tools])
    before = latency.memory_mb()
    began, began_cpu = perf_counter(), process_time()
    index = ToolIndex(catalog, folder=folder)
    len(index)  # reads the tools, or loads
    read_cpu = process_time()
    first = perf_counter()
    index.search(queries[0])
    ready, ready_cpu = perf_counter(), process_time()
    weighed = latency.memory_mb() - before
    answers = [index.search(query) for query in queries]  # caches fill as they would in any process that serves
    times = [min(searched_cpu_ms(index, query) for _ in range(REPEATS)) for query in queries]
    sure = [ms for ms, found in zip(times, answers, strict=True) if found.path == "lexical"]
    other = [ms for ms, found in zip(times, answers, strict=True) if found.path != "lexical"]
    added = [registered_visible_ms(catalog, index, tool) for tool in held[tools:]]
    return {
        "ready_cpu_seconds": ready_cpu - began_cpu,
        "ready_seconds": ready - began,
        "first_search_cpu_ms": (ready_cpu - read_cpu) * 1000,
        "first_search_ms": (ready - first) * 1000,
        "sure_searches": len(sure),
        "sure_p50_cpu_ms": percentile(sure, 50) if sure else None,
        "other_p50_cpu_ms": percentile(other, 50),
        "p95_cpu_ms": percentile(times, 95),
        "add_visible_p50_ms": percentile(added, 50),
        "memory_mb": weighed,
        "answers": hashlib.sha256(repr([(one.hits, one.confidence) for one in answers]).encode()).hexdigest(),
    }


def registered_visible_ms(catalog: Any, index: Any, tool: Tool) -> float:
    """From `catalog.add` to the end of a search that finds the tool by its exact name."""
    began = perf_counter()
    catalog.add(tool)
    found = index.search(tool.name).names
    if tool.name not in found:
        raise RuntimeError(f"{tool.name} was added and is not found: {found}")
    return (perf_counter() - began) * 1000


def searched_cpu_ms(index: Any, query: str) -> float:
    began = process_time()
    index.search(query)
    return (process_time() - began) * 1000


async def shared_catalog(tools: int) -> dict[str, Any]:
    """Register so many tools, let a replica start, and time how long changes take to reach it."""
    from toolcrib.catalog.catalog import Catalog
    from toolcrib.postgres.catalog import SharedCatalog
    from toolcrib.postgres.database import PostgresDatabase
    from toolcrib.postgres.replica import SharedSource

    held = list(tools_of_size(tools))
    with PostgresServer() as server:
        url = server.new_database()
        async with PostgresDatabase(url) as database, PostgresDatabase(url) as elsewhere:
            shared = SharedCatalog(database)
            registered = await seconds(shared.register("bench", held))
            again = await seconds(shared.register("bench", held))
            source = SharedSource(SharedCatalog(elsewhere), Catalog())
            started = await seconds(source.__aenter__())
            times = []
            for tool in fresh_tools(CHANGES):
                began = perf_counter()
                change = await shared.register(f"bench:{tool.name}", [tool])
                await source.reached(change.revision)
                times.append((perf_counter() - began) * 1000)
            await source.stop()
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT pg_total_relation_size('toolcrib_catalog_tool')").fetchone()
    return {
        "tools": tools,
        "register_seconds": registered,
        "register_again_seconds": again,
        "replica_start_seconds": started,
        "change_reaches_replica_p50_ms": percentile(times, 50),
        "change_reaches_replica_max_ms": max(times),
        "tables_mb": row[0] / 1e6 if row else 0.0,
    }


async def seconds(work: Awaitable[object]) -> float:
    started = perf_counter()
    await work
    return perf_counter() - started


def build(url: str, tools: int) -> dict[str, float]:
    """Fill the tables by several processes, then make the indexes that search needs."""
    index = PostgresIndex(url, tenant=TENANT)
    index.put([])  # makes the tables
    index.close()
    with psycopg.connect(url, autocommit=True) as connection:
        drop_slow_indexes(connection, DIMENSIONS)
        started = perf_counter()
        context = get_context("spawn")
        loaders = [context.Process(target=load, args=(url, tools, number)) for number in range(LOADERS)]
        for loader in loaders:
            loader.start()
        for loader in loaders:
            loader.join()
            if loader.exitcode:
                raise RuntimeError("a loader failed")
        took = {"load_seconds": perf_counter() - started}
        say(took)
        for name, statement in slow_indexes(DIMENSIONS).items():
            started = perf_counter()
            connection.execute(statement.encode())
            took[f"{NAMES[name.rpartition('_')[2]]}_seconds"] = perf_counter() - started
            say(took)
        connection.execute("VACUUM ANALYZE")
    return took


def load(url: str, tools: int, number: int) -> None:
    """One process's share of the tools."""
    index = PostgresIndex(url, tenant=TENANT)
    index.put(islice(tools_of_size(tools), number, None, LOADERS))
    index.close()


def tools_of_size(size: int) -> Iterator[Tool]:
    """The tools of `latency.tools_of_size`, without holding all of them."""
    real = list(data.load(data.CATALOG).tools)
    random.Random(0).shuffle(real)
    variations = (latency.variation(tool, f"v{turn}") for turn in count(1) for tool in real)
    yield from real[:size]
    yield from islice(variations, max(0, size - len(real)))


def weight(url: str) -> dict[str, float]:
    """What PostgreSQL holds, in MB."""
    table = table_of(DIMENSIONS)
    with psycopg.connect(url) as connection:

        def megabytes(what: str) -> float:
            row = connection.execute(f"SELECT {what}".encode()).fetchone()
            assert row is not None
            return float(row[0]) / 1e6

        return {
            "rows_mb": megabytes(f"pg_table_size('{table}')"),
            "vector_graph_mb": megabytes(f"pg_relation_size('{table}_whole')"),
            "full_text_mb": megabytes(f"pg_relation_size('{table}_lexemes')"),
            "database_mb": megabytes("pg_database_size(current_database())"),
        }


def replica(url: str) -> dict[str, Any]:
    """A process that only searches: its memory, its times alone, and how much it answers with several clients."""
    queries = latency.requests(latency.QUERIES)
    before = latency.memory_mb()
    index = PostgresIndex(url, tenant=TENANT, connections=CLIENTS)
    timed(index.search, queries[:50])  # caches fill as they would in any process that serves
    with psycopg.connect(url, autocommit=True) as beside:
        own, theirs = process_time(), server_cpu_seconds(beside)
        times = timed(index.search, queries)
        own, theirs = process_time() - own, server_cpu_seconds(beside) - theirs
    alone = latency.memory_mb() - before
    started = perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(index.search, queries))
    per_second = len(queries) / (perf_counter() - started)
    added = [added_visible_ms(index, tool) for tool in fresh_tools(latency.ADDED)]
    index.close()
    from toolcrib.search.text import split_request

    one_errand = [ms for ms, query in zip(times, queries, strict=True) if not split_request(query)]
    return {
        "p50_ms": percentile(times, 50),
        "p99_ms": percentile(times, 99),
        "one_errand_p50_ms": percentile(one_errand, 50),
        "replica_cpu_ms": own * 1000 / len(queries),
        "postgres_cpu_ms": theirs * 1000 / len(queries),
        "searches_per_second": per_second,
        "add_visible_p50_ms": percentile(added, 50),
        "replica_mb": alone,
    }


def timed(search: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    times: list[float] = []
    for query in queries:
        started = perf_counter()
        search(query)
        times.append((perf_counter() - started) * 1000)
    return times


def server_cpu_seconds(connection: psycopg.Connection[Any]) -> float:
    """What the connections of this database have worked so far; on a busy machine the clock says little."""
    rows = connection.execute(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    ).fetchall()
    spent = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13] for (pid,) in rows]
    return sum(int(ticks) for pair in spent for ticks in pair) / os.sysconf("SC_CLK_TCK")


def fresh_tools(number: int) -> list[Tool]:
    return [latency.variation(tool, f"added{at}") for at, tool in enumerate(islice(tools_of_size(number), number))]


def added_visible_ms(index: PostgresIndex, tool: Tool) -> float:
    started = perf_counter()
    index.put([tool])
    found = index.search(tool.name).names
    took = (perf_counter() - started) * 1000
    if tool.name not in found:
        raise RuntimeError(f"{tool.name} was added and is not found: {found}")
    return took


def in_fresh_process(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, check=True)
    figures = json.loads(done.stdout)
    say(figures)
    return figures


def mean(values: Any) -> float:
    held = list(values)
    return sum(held) / len(held)


def say(figures: object) -> None:
    print(figures, file=sys.stderr, flush=True)


def keep(part: str, key: str, figures: dict[str, Any]) -> None:
    """Write one measurement beside the others."""
    say({key: figures})
    held = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    held.setdefault(part, {})[key] = figures | {"load_average": os.getloadavg()[1]}
    RESULTS.write_text(json.dumps(held, indent=1) + "\n")


def write_page() -> None:
    held = json.loads(RESULTS.read_text())
    page = [
        "# Scale",
        "Written by `python benchmarks/scale.py`; what it does stands at its top. One machine with two cores held "
        "PostgreSQL, its loaders, its clients and other work. *Load average* is how many processes wanted those two "
        "cores: times by the clock are several times what a free machine takes, *cpu ms* up to a third more.",
    ]
    if quality := held.get("quality"):
        rows = [
            [
                name,
                f"{row['tools']:,}",
                row["queries"],
                percent(row["in_process"]),
                percent(row["postgres"]),
                f"{100 * (row['postgres'] - row['in_process']):+.1f}",
                percent(row["same_first"]),
            ]
            for name, row in quality.items()
        ]
        head = ["set", "tools", "queries", "in process", "PostgreSQL", "difference", "same first tool"]
        page += ["## Recall@5, test splits, without abstention", report.markdown([head, *rows])]
    for part, title, first in (
        ("postgres", "Tools in PostgreSQL", "`PostgresIndex`"),
        ("in_process", "The same tools in the process", "`ToolIndex`"),
        ("catalog", "The shared catalog", "`SharedCatalog`"),
    ):
        if sizes := dict(sorted(held.get(part, {}).items(), key=lambda one: int(one[0]))):
            keys = [key for key in max(sizes.values(), key=len) if key != "tools"]
            rows = [[key.replace("_", " "), *(shown(figures.get(key)) for figures in sizes.values())] for key in keys]
            head = [first, *(f"{figures['tools']:,} tools" for figures in sizes.values())]
            page += [f"## {title}", report.markdown([head, *rows])]
    RESULTS.with_suffix(".md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.{1 if abs(value) >= 10 else 2}f}"


if __name__ == "__main__":
    main()
