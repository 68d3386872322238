"""What a gateway costs: calls through ours, through FastMCP's proxy with its BM25 search, and straight to the server.

    python benchmarks/gateway.py                       # into benchmarks/results/gateway.md and .json
    python benchmarks/gateway.py --calls 200           # a quick look

Everything speaks streamable HTTP on this machine, each part in a process of its own: one upstream server with real MCP
tools, the two gateways before it, and the clients (FastMCP's, in the newer protocol) in this process. Clients and
servers share the machine, so the figures are for comparing, within one run.
"""

import argparse
import asyncio
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in latency.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

from fastmcp import Client, FastMCP
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.server import create_proxy
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools.base import Tool as TheirTool, ToolResult as TheirResult

from benchmarks import poison, report
from benchmarks.latency import requests, tools_of_size
from toolcrib.evals.retrieval import percentile

RESULTS = Path(__file__).parent / "results"
TOKEN = "benchmark-token"
CLIENTS = (1, 16, 64)
SIZES = (1_000, 5_000)
MANY_CALLS = 10_000
START_SECONDS = 120
TURN = 25  # searches of one arm before the next: each in turn would find its caches full of the others' work
MOST_SEARCHES = {"fastmcp": 10}  # each takes seconds
PROCESSES: dict[str, int] = {}  # by address
ARMS = ("direct", "toolcrib", "fastmcp")
LABELS = {
    "direct": "straight to the server",
    "toolcrib": "toolcrib gateway",
    "fastmcp": "FastMCP proxy + BM25SearchTransform",
    "fastmcp-local": "FastMCP BM25SearchTransform, tools of its own",
}


class Echo(TheirTool):
    """A tool that costs nothing."""

    async def run(self, arguments: dict[str, Any]) -> TheirResult:
        return TheirResult(content="done")


def upstream(size: int) -> FastMCP[Any]:
    server: FastMCP[Any] = FastMCP("upstream")
    for tool in tools_of_size(size):
        server.add_tool(Echo(name=tool.name, description=tool.description, parameters=dict(tool.parameters)))
    free = {"type": "object", "properties": {"text": {"type": "string"}}}
    server.add_tool(Echo(name="echo", description="Say the text again.", parameters=free))
    return server


# The parts, each in a process of its own


def serve(role: str, port: int, size: int, url: str) -> None:
    if role == "toolcrib":
        serve_toolcrib(port, url)
        return
    if role == "upstream":
        server = upstream(size)
    else:
        server = upstream(size) if role == "fastmcp-local" else create_proxy(Client(url), name="proxy")
        server.add_transform(BM25SearchTransform(max_results=5))
    server.run(transport="http", host="127.0.0.1", port=port, show_banner=False, log_level="error")


def serve_toolcrib(port: int, url: str) -> None:
    from toolcrib.catalog.approvals import Quarantine
    from toolcrib.catalog.catalog import Catalog
    from toolcrib.gateway.http import http_server
    from toolcrib.gateway.server import Gateway
    from toolcrib.serving import Options, bind_socket
    from toolcrib.sources.mcp.config import read_mcp_server
    from toolcrib.sources.mcp.source import McpSource
    from toolcrib.sources.source import SourceGroup

    quarantine = Quarantine(Catalog())
    group = SourceGroup([McpSource(read_mcp_server("up", {"url": url}), quarantine)])
    # Nobody is held to a rate here: that is what is measured.
    options = Options(port=port, tokens={TOKEN: "bench"}, requests_per_second=1e9, burst=1_000_000)
    http_server(Gateway(group, quarantine), options).run(sockets=[bind_socket(options)])


@contextmanager
def running(role: str, size: int = 0, url: str = "") -> Generator[str]:
    """The address of a part that is up."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, __file__, "--serve", role, "--port", str(port), "--size", str(size), "--url", url]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    PROCESSES[f"http://127.0.0.1:{port}/mcp"] = process.pid
    try:
        deadline = perf_counter() + START_SECONDS
        while perf_counter() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


# What is measured


def processor_seconds(url: str) -> float:
    """What a part has taken of the processor so far: a figure that other work of the machine does not change much."""
    fields = Path(f"/proc/{PROCESSES[url]}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def client(url: str, arm: str) -> Client[Any]:
    return Client(StreamableHttpTransport(url, auth=TOKEN if arm == "toolcrib" else None))


def asked(arm: str) -> tuple[str, dict[str, Any]]:
    if arm == "direct":
        return "echo", {"text": "hello"}
    name = "up__echo" if arm == "toolcrib" else "echo"
    return "call_tool", {"name": name, "arguments": {"text": "hello"}}


async def load(url: str, arm: str, clients: int, calls: int) -> dict[str, Any]:
    """So many calls by so many clients at once: how long each took, and what went wrong."""
    name, arguments = asked(arm)
    times: list[float] = []
    errors = 0

    async def one(number: int) -> None:
        nonlocal errors
        async with client(url, arm) as own:
            await own.call_tool_mcp(name, arguments)  # connected and warm before it counts
            ready.release()
            await go.wait()
            for _ in range(number):
                began = perf_counter()
                try:
                    result = await own.call_tool_mcp(name, arguments)
                    errors += bool(result.is_error) or getattr(result.content[0], "text", "") != "done"
                except Exception:  # whatever it is, it counts
                    errors += 1
                times.append((perf_counter() - began) * 1_000)

    ready, go = asyncio.Semaphore(0), asyncio.Event()
    tasks = [asyncio.create_task(one(calls // clients + (number < calls % clients))) for number in range(clients)]
    for _ in tasks:
        await ready.acquire()
    began = perf_counter()
    go.set()
    await asyncio.gather(*tasks)
    seconds = perf_counter() - began
    return {
        "arm": arm,
        "clients": clients,
        "calls": calls,
        "p50_ms": percentile(times, 50),
        "p99_ms": percentile(times, 99),
        "per_second": calls / seconds,
        "errors": errors,
    }


async def searches(urls: dict[str, str], size: int, number: int) -> list[dict[str, Any]]:
    """The same searches over the wire, one after the other; the arms take turns, some searches each."""
    times: dict[str, list[float]] = {arm: [] for arm in urls}
    taken = dict.fromkeys(urls, 0.0)
    async with AsyncExitStack() as stack:
        clients = {arm: await stack.enter_async_context(client(url, arm)) for arm, url in urls.items()}
        for own in clients.values():
            await own.call_tool_mcp("search_tools", {"query": "warm up"})
        for arm, url in urls.items():
            taken[arm] -= processor_seconds(url)
        queries = requests(number)
        for start in range(0, number, TURN):
            for arm, own in clients.items():
                for query in queries[start : start + TURN][: MOST_SEARCHES.get(arm, number) - len(times[arm])]:
                    began = perf_counter()
                    await own.call_tool_mcp("search_tools", {"query": query})
                    times[arm].append((perf_counter() - began) * 1_000)
        for arm, url in urls.items():
            taken[arm] += processor_seconds(url)
    return [
        {
            "arm": arm,
            "tools": size,
            "searches": len(waited),
            "p50_ms": percentile(waited, 50),
            "p99_ms": percentile(waited, 99),
            "processor_ms": taken[arm] * 1_000 / len(waited),
        }
        for arm, waited in times.items()
    ]


async def tokens(direct: str, ours: str, size: int) -> dict[str, Any]:
    """What stands in every request of a client: all tools listed, and the surface."""
    from toolcrib.discovery.tokens import count_tokens

    async def listed(url: str, arm: str) -> int:
        async with client(url, arm) as own:
            tools = await own.list_tools()
        shown = [{"name": one.name, "description": one.description, "input_schema": one.input_schema} for one in tools]
        return count_tokens(json.dumps(shown, ensure_ascii=False))

    return {"tools": size, "all": await listed(direct, "direct"), "surface": await listed(ours, "toolcrib")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000, help="calls for each arm and number of clients")
    parser.add_argument(
        "--many", type=int, default=MANY_CALLS, help="calls through our gateway in which errors are counted"
    )
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--only-searches", action="store_true", help="leave the other figures of the page as they are")
    parser.add_argument("--out", type=Path, default=RESULTS / "gateway", help="path of the page, without suffix")
    parser.add_argument("--serve", help="be one of the parts")
    parser.add_argument("--port", type=int)
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--url", default="")
    chosen = parser.parse_args()
    if chosen.serve:
        serve(chosen.serve, chosen.port, chosen.size, chosen.url)
        return

    def say(text: object) -> None:
        print(text, flush=True)

    if chosen.only_searches:
        before = json.loads(chosen.out.with_suffix(".json").read_text("utf-8"))
        write(chosen.out, before | measured_searches(chosen.searches, say))
    else:
        write(chosen.out, measured(chosen.calls, chosen.many, chosen.searches, say))


def measured(calls: int, many: int, number: int, say: Callable[[object], None]) -> dict[str, Any]:
    """All figures. Arms take turns, so that whatever else the machine does hits each alike."""
    figures: dict[str, Any] = {"calls": []}
    with (
        running("upstream", 200) as direct,
        running("toolcrib", url=direct) as ours,
        running("fastmcp", url=direct) as theirs,
    ):
        urls = dict(zip(ARMS, (direct, ours, theirs), strict=True))
        for clients in CLIENTS:
            for arm in ARMS:
                # It takes half a second for a call: fewer have to do.
                some = min(calls, max(32, clients)) if arm == "fastmcp" else calls
                figures["calls"].append(asyncio.run(load(urls[arm], arm, clients, some)))
                say(figures["calls"][-1])
        figures["many"] = asyncio.run(load(ours, "toolcrib", 16, many))
        say(figures["many"])
    figures["calls_load"] = round(os.getloadavg()[1], 1)
    return {**figures, **measured_searches(number, say), "poison": poison.table()}


def measured_searches(number: int, say: Callable[[object], None]) -> dict[str, Any]:
    """The figures of searches, and of what stands in every request."""
    figures: dict[str, Any] = {"search": [], "tokens": []}
    for size in SIZES:
        with (
            running("upstream", size) as direct,
            running("toolcrib", url=direct) as ours,
            running("fastmcp", url=direct) as theirs,
            running("fastmcp-local", size) as local,
        ):
            urls = {"toolcrib": ours, "fastmcp": theirs, "fastmcp-local": local}
            figures["search"] += asyncio.run(searches(urls, size, number))
            figures["tokens"].append(asyncio.run(tokens(direct, ours, size)))
        say(figures["search"][-len(urls) :])
    return {**figures, "search_load": round(os.getloadavg()[1], 1)}


def write(out: Path, figures: dict[str, Any]) -> None:
    setup = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**figures, "setup": setup}, indent=1, ensure_ascii=False)
    out.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
    plain = {row["clients"]: row["p50_ms"] for row in figures["calls"] if row["arm"] == "direct"}
    calls: list[list[object]] = [["calls", "clients", "p50 ms", "p99 ms", "added p50 ms", "calls a second", "errors"]]
    calls += [
        [
            LABELS[row["arm"]],
            row["clients"],
            f"{row['p50_ms']:.1f}",
            f"{row['p99_ms']:.1f}",
            f"{row['p50_ms'] - plain[row['clients']]:.1f}" if row["arm"] != "direct" else "",
            f"{row['per_second']:.0f}",
            row["errors"],
        ]
        for row in figures["calls"]
    ]
    search: list[list[object]] = [["searches", "tools", "p50 ms", "p99 ms", "times ours", "processor ms", "times ours"]]
    ours = {row["tools"]: row for row in figures["search"] if row["arm"] == "toolcrib"}
    search.extend(
        [
            LABELS[row["arm"]],
            f"{row['tools']:,}",
            f"{row['p50_ms']:.1f}",
            f"{row['p99_ms']:.1f}",
            f"{row['p50_ms'] / ours[row['tools']]['p50_ms']:.1f}",
            f"{row['processor_ms']:.1f}",
            f"{row['processor_ms'] / ours[row['tools']]['processor_ms']:.1f}",
        ]
        for row in figures["search"]
    )
    cost: list[list[object]] = [["tools", "tokens, all listed", "tokens, our surface"]]
    cost += [[f"{row['tools']:,}", f"{row['all']:,}", row["surface"]] for row in figures["tokens"]]
    many = figures["many"]
    page = [
        "# Gateway",
        "Written by `python benchmarks/gateway.py`. Streamable HTTP on one machine, each part in a process of its own; "
        f"clients share the {setup['cores']} cores with the servers. Python {setup['python']}, {setup['machine']}. "
        "A load is that of the machine in the last five minutes, our own work and that of others.",
        "## Calls",
        report.markdown(calls),
        f"{many['errors']} errors in {many['calls']:,} calls by {many['clients']} clients through our gateway "
        f"({many['per_second']:.0f} a second, p99 {many['p99_ms']:.0f} ms). "
        f"Load: {figures.get('calls_load', 'not noted')}.",
        "## Searches, over the wire",
        report.markdown(search),
        f"Load: {figures['search_load']}. Processor: what the server's process takes for one search. "
        "FastMCP's proxy (`create_proxy`, as it comes) asks the server behind it for its tools at each search and "
        "at each call; the last lines have them at hand.",
        "## Tokens in every request",
        report.markdown(cost),
        "## Tools that want to be found",
        f"Share of {poison.QUERIES} requests ({poison.SET}), in %, beside {poison.BYSTANDERS} more real MCP tools.",
        report.markdown(figures["poison"]),
    ]
    out.with_suffix(".md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
