"""`toolcrib tokens`: what a catalog's tools cost in each mode, and which mode fits."""

import asyncio

from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.cli.places import From, Json, load_catalog
from toolcrib.discovery.costs import MODEL, REQUESTS, WINDOW, CostTable, cost_table
from toolcrib.discovery.modes import SHARE
from toolcrib.discovery.tokens import TokenCount, is_exact


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
    table = asyncio.run(cost_table(load_catalog(source), window=window, share=share, model=model))
    if json:
        write_json(table.to_json())
        return 0
    show(table)
    say(f"\nauto takes {table.decision.reason}")
    for search in table.searches:
        note(f"searched {search.query!r}: {', '.join(search.activated) or 'nothing new'}")
    note(_kind_of_count(model, exact=table.exact))
    return 0


def show(table: CostTable) -> None:
    """The table, for people."""
    columns = Columns(("mode", "when", "tools", "tokens", "of window", f"per {REQUESTS:,} requests"))
    for row in table.rows:
        count = TokenCount(tokens=row.overhead.tokens, exact=table.exact)
        share = f"{100 * row.overhead.tokens / table.window:.1f} %"
        columns.add(row.mode, row.step, f"{row.overhead.visible:,}", str(count), share, str(row.cost))
    columns.show()


def _kind_of_count(model: str, *, exact: bool) -> str:
    if exact:
        return f"counted with o200k, the vocabulary of {model}; costs are for input, nothing of it cached"
    if is_exact():
        return f"counted with o200k: an estimate for {model}; costs are for input, nothing of it cached"
    return "an estimate, within 10 % for English tools; for exact counts: pip install 'toolcrib[tokens]'"
