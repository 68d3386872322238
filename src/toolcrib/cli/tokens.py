"""`toolcrib tokens`: what a catalog's tools cost in each mode, and which mode fits."""

import asyncio
from collections.abc import Sequence

from toolcrib.cli.options import From, Json, load_catalog
from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.discovery.costs import MODEL, REQUESTS, WINDOW, CostTable, DailyCost, cost_table, daily_costs
from toolcrib.discovery.modes import SHARE
from toolcrib.discovery.tokens import TokenCount, is_exact
from toolcrib.errors import ModeError


def tokens(
    *,
    source: From = None,
    window: int = WINDOW,
    share: float = SHARE,
    model: str = MODEL,
    mix: str | None = None,
    per_day: int = REQUESTS,
    json: Json = False,
) -> int:
    """Count the tokens that tools cost in each mode: all schemas, one line per tool, or search.

    Counts what tools add to a request: definitions, lists, searches with their results, protocols; not your prompt or
    the conversation. The searches are for two of the catalog's own tools.

    Example: `toolcrib tokens --from examples/office --window 16000`

    Example: `toolcrib tokens --model gpt-4o-mini --mix 30,50,20 --per-day 10000`

    Args:
        window: The model's context window, in tokens.
        share: The share of the window that tools may take.
        model: The model whose prices and wire format to use; `provider:name` if the name is ambiguous.
        mix: Also show the daily cost for this mix: the shares of requests that need no search, one search, and
            two.
        per_day: Requests per day, for the mix.
    """
    table = asyncio.run(cost_table(load_catalog(source), window=window, share=share, model=model))
    daily = () if mix is None else daily_costs(table, _shares(mix), per_day)
    if json:
        write_json(
            table.to_json() | ({} if mix is None else {"per_day": per_day, "daily": [one.to_json() for one in daily]})
        )
        return 0
    show(table)
    if daily:
        show_daily(daily, per_day)
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


def show_daily(daily: Sequence[DailyCost], per_day: int) -> None:
    """What a day and a month cost, and what discovery saves."""
    say(f"\n{per_day:,} requests a day")
    columns = Columns(("mode", "tokens, mean", "a day", "a month"))
    for one in daily:
        columns.add(one.mode, f"{one.tokens:,.0f}", str(one.day), str(one.month))
    columns.show()
    direct, discovery = daily
    if direct.tokens:
        say(f"discovery saves {100 * (1 - discovery.tokens / direct.tokens):.0f} %")


def _shares(mix: str) -> list[float]:
    try:
        return [float(part) for part in mix.split(",")]
    except ValueError:
        raise ModeError(f"{mix!r} is no mix.", hint="Give three shares, such as 30,50,20.") from None


def _kind_of_count(model: str, *, exact: bool) -> str:
    if exact:
        return f"counted with o200k, the vocabulary of {model}; costs are for input, nothing of it cached"
    if is_exact():
        return f"counted with o200k: an estimate for {model}; costs are for input, nothing of it cached"
    return "an estimate, within 10 % for English tools; for exact counts: pip install 'toolcrib[tokens]'"
