"""How long a catalog of 10,000 tools takes to fill and to check, and how long `import toolcrib` takes.

Run it with `python benchmarks/catalog.py`. The last column holds the promises; exit status 1 means one is broken.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from rich.console import Console
from rich.table import Table

from toolcrib.catalog.catalog import Catalog
from toolcrib.tools.function import tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

TOOLS = 10_000
REPEATS = 5
VERBS = ("create", "read", "update", "delete", "search", "list", "publish", "archive")
CATEGORIES = ("pages", "images", "users", "orders", "invoices", "reports", "settings", "mail")


async def call(arguments: object, context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def good_tools() -> list[Tool]:
    """Tools as people write them, without a problem."""
    return [
        Tool(
            name=f"{VERBS[number % 8]}_{CATEGORIES[number // 8 % 8]}_{number}",
            description=f"{VERBS[number % 8].title()} the {CATEGORIES[number // 8 % 8]} of shop {number} by name.",
            parameters={"type": "object", "properties": {"name": {"type": "string"}, "limit": {"type": "integer"}}},
            call=call,
            category=CATEGORIES[number // 8 % 8],
            phrases=(f"{VERBS[number % 8]} number {number}", f"please handle {number}"),
            related=(f"{VERBS[(number - 1) % 8]}_{CATEGORIES[(number - 1) // 8 % 8]}_{number - 1}",) if number else (),
        )
        for number in range(TOOLS)
    ]


def bad_tools() -> list[Tool]:
    """The same with every mistake in every tool: the worst case for the suggestions in the hints."""
    return [
        tool.with_metadata(
            description="",
            related=(f"{tool.name}x", f"{tool.name[1:]}"),
            phrases=("the same",),
            risk="destructive",
            category=f"{tool.category}{chr(97 + number % 26)}",
        )
        for number, tool in enumerate(good_tools())
    ]


def search(query: str, limit: int = 5, exact: bool = False) -> list[str]:
    """Search by name.

    Args:
        query: What to look for.
        limit: How many at most.
    """
    return [query] * limit if exact else []


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def import_seconds(module: str) -> float:
    """What an interpreter needs longer with the import than without."""
    runs = [
        seconds(lambda code=code: subprocess.run([sys.executable, "-c", code], check=True))
        for code in (f"import {module}", "pass")
    ]
    return runs[0] - runs[1]


def add_one_by_one(tools: list[Tool]) -> None:
    catalog = Catalog()
    for each in tools:
        catalog.add(each)


def load_metadata(names: list[str]) -> float:
    with TemporaryDirectory() as folder:
        file = Path(folder, "tools.yaml")
        file.write_text("".join(f"{name}:\n  category: pages\n  phrases: [one, two]\n" for name in names))
        return seconds(lambda: Catalog().load_metadata(file))


def measurements() -> Iterator[tuple[str, float, float | None]]:
    """What was measured, the median in seconds and the promise in seconds."""
    good, bad = good_tools(), bad_tools()
    good_catalog, bad_catalog = Catalog(good), Catalog(bad)
    rounds: list[tuple[str, Callable[[], float], float | None]] = [
        ("import toolcrib", lambda: import_seconds("toolcrib"), 0.2),
        ("import toolcrib.catalog", lambda: import_seconds("toolcrib.catalog.catalog"), None),
        (f"make {TOOLS:,} tools by hand", lambda: seconds(good_tools), None),
        ("make 1,000 tools of functions", lambda: seconds(lambda: [tool(search) for _ in range(1000)]), None),
        (f"add {TOOLS:,} tools one by one", lambda: seconds(lambda: add_one_by_one(good)), 1),
        (f"add {TOOLS:,} tools at once", lambda: seconds(lambda: Catalog(good)), 1),
        (f"check {TOOLS:,} good tools", lambda: seconds(good_catalog.check), 2),
        (f"check {TOOLS:,} bad tools ({len(bad_catalog.check()):,} problems)", lambda: seconds(bad_catalog.check), 2),
        ("load metadata of 1,000 tools", lambda: load_metadata([each.name for each in good[:1000]]), None),
    ]
    for what, measure, promise in rounds:
        yield what, median(measure() for _ in range(REPEATS)), promise


def main() -> int:
    table = Table("what", "seconds", "promise", title=f"Catalog, median of {REPEATS}")
    broken = False
    for what, took, promise in measurements():
        broken |= promise is not None and took >= promise
        table.add_row(what, f"{took:.3f}", f"< {promise}" if promise else "")
    Console().print(table)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
