"""What the tools cost in each mode, as `toolcrib tokens --json` tells it."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from toolcrib.catalog import Catalog
from toolcrib.discovery import overhead
from toolcrib.discovery.modes import choose_mode
from toolcrib.discovery.prices import input_cost
from toolcrib.discovery.tokens import is_exact
from toolcrib.tools.tool import Tool

WINDOW = 200_000
MODEL = "gpt-5.4"
REQUESTS = 10_000
AFTER = ("at step 0", "after one search", "after two searches")


async def token_table(catalog: Catalog, tools: Sequence[Tool]) -> dict[str, Any]:
    """A row for each mode and step, the searches behind them, and what `auto` would take."""
    queries = overhead.own_queries(tools)
    seen = catalog if len(tools) == len(catalog) else Catalog(tools)
    steps, searches = await overhead.discovery_overheads(seen, queries)
    direct, compact, decision = await asyncio.to_thread(
        lambda: (overhead.direct_overhead(tools), overhead.compact_overhead(tools), choose_mode(seen, WINDOW))
    )
    rows = [
        ("direct", "at each step", direct),
        ("compact", AFTER[0], compact),
        *(("discovery", when, step) for when, step in zip(AFTER, steps, strict=False)),
    ]
    return {
        "window": WINDOW,
        "model": MODEL,
        "exact": is_exact(MODEL),
        "rows": [_row(mode, when, spent) for mode, when, spent in rows],
        "searches": [asdict(search) for search in searches],
        "auto": asdict(decision),
    }


def _row(mode: str, when: str, spent: overhead.Overhead) -> dict[str, Any]:
    dollars = input_cost(spent.tokens, MODEL, requests=REQUESTS).dollars
    return {
        "mode": mode,
        "step": when,
        "tokens": spent.tokens,
        **asdict(spent),
        "share_of_window": spent.tokens / WINDOW,
        f"dollars_per_{REQUESTS}_requests": None if dollars is None else float(dollars),
    }
