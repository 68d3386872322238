"""`toolcrib tokens`: what a catalog's tools cost in each mode, and which mode fits."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from toolcrib.catalog import Catalog
from toolcrib.cli.load import load_catalog
from toolcrib.cli.options import From, Json
from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.discovery.modes import SHARE, ModeDecision, choose_mode
from toolcrib.discovery.prices import Cost, input_cost
from toolcrib.discovery.tokens import TokenCount, is_exact
from toolcrib.discovery.wire import Wire

if TYPE_CHECKING:
    from toolcrib.discovery.overhead import Overhead, Search

WINDOW = 200_000
MODEL = "gpt-5.4"
REQUESTS = 10_000
AFTER = ("at step 0", "after one search", "after two searches")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One way to show the tools, at one step."""

    mode: str
    step: str
    overhead: "Overhead"
    cost: Cost


def tokens(
    *, source: From = None, window: int = WINDOW, share: float = SHARE, model: str = MODEL, json: Json = False
) -> int:
    """Count what the tools cost in each mode: all of them, a line each, or found by search.

    Counted is what tools add to a request: definitions, lists, searches with their results, protocols; not your prompt
    and not the talk. The searches are for two of the catalog's own tools.

    Example: `toolcrib tokens --from examples/office --window 16000`

    Args:
        window: The model's context window, in tokens.
        share: How much of it tools may take.
        model: Whose prices and wire form to use; `provider:name` if a name alone is not clear.
    """
    catalog = load_catalog(source)
    wire: Wire = "anthropic" if "claude" in model.casefold() else "openai-chat"
    decision = choose_mode(catalog, window, share, wire=wire)
    rows, searches = measured(catalog, model, wire)
    exact = is_exact(model)
    if json:
        write_json(as_dict(rows, searches, decision, window=window, model=model, wire=wire, exact=exact))
    else:
        show(rows, window, exact=exact)
        say(f"\nauto takes {decision.reason}")
        for search in searches:
            note(f"searched {search.query!r}: {', '.join(search.activated) or 'nothing new'}")
        note(_kind_of_count(model, exact=exact))
    return 0


def measured(catalog: Catalog, model: str, wire: Wire) -> tuple[list[Row], "list[Search]"]:
    """Every row of the table, and the searches behind the last ones."""
    from toolcrib.discovery import overhead  # late: numpy and tantivy

    tools = list(catalog)
    queries = overhead.own_queries(tools)
    steps, searches = asyncio.run(overhead.discovery_overheads(catalog, queries, wire=wire))
    spent = [
        ("direct", "at each step", overhead.direct_overhead(tools, wire)),
        ("compact", AFTER[0], overhead.compact_overhead(tools, wire)),
        *(("discovery", when, step) for when, step in zip(AFTER, steps, strict=False)),
    ]
    rows = [
        Row(mode=mode, step=step, overhead=each, cost=input_cost(each.tokens, model, requests=REQUESTS))
        for mode, step, each in spent
    ]
    return rows, searches


def show(rows: Sequence[Row], window: int, *, exact: bool) -> None:
    """The table, for people."""
    table = Columns(("mode", "when", "tools", "tokens", "of window", f"per {REQUESTS:,} requests"))
    for row in rows:
        count = TokenCount(tokens=row.overhead.tokens, exact=exact)
        share = f"{100 * row.overhead.tokens / window:.1f} %"
        table.add(row.mode, row.step, f"{row.overhead.visible:,}", str(count), share, str(row.cost))
    table.show()


def as_dict(
    rows: Sequence[Row],
    searches: "Sequence[Search]",
    decision: ModeDecision,
    *,
    window: int,
    model: str,
    wire: Wire,
    exact: bool,
) -> dict[str, object]:
    """All of it, for programs; a cost that is not known is null."""
    return {
        "window": window,
        "model": model,
        "wire": wire,
        "exact": exact,
        "rows": [
            {
                "mode": row.mode,
                "step": row.step,
                "tokens": row.overhead.tokens,
                **asdict(row.overhead),
                "share_of_window": row.overhead.tokens / window,
                f"dollars_per_{REQUESTS}_requests": None if row.cost.dollars is None else float(row.cost.dollars),
            }
            for row in rows
        ],
        "searches": [asdict(search) for search in searches],
        "auto": asdict(decision),
    }


def _kind_of_count(model: str, *, exact: bool) -> str:
    if exact:
        return f"counted with o200k, the vocabulary of {model}; costs are for input, nothing of it cached"
    if is_exact():
        return f"counted with o200k: an estimate for {model}; costs are for input, nothing of it cached"
    return "an estimate, within 10 % for English tools; for exact counts: pip install 'toolcrib[tokens]'"
