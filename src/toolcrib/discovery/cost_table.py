"""What a catalogue costs in each mode, at each step: the table that `toolcrib tokens` and the page show."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from toolcrib.catalog import Catalog
from toolcrib.discovery.modes import SHARE, ModeDecision, choose_mode
from toolcrib.discovery.prices import Cost, input_cost
from toolcrib.discovery.tokens import is_exact
from toolcrib.discovery.wire import Wire

if TYPE_CHECKING:
    from toolcrib.discovery.overhead import Overhead, Search

WINDOW = 200_000
MODEL = "gpt-5.4"
REQUESTS = 10_000
AFTER = ("at step 0", "after one search", "after two searches")


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """One way to show the tools, at one step."""

    mode: str
    step: str
    overhead: "Overhead"
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class CostTable:
    """Every mode side by side, the searches behind the last rows, and what `auto` would take."""

    rows: tuple[CostRow, ...]
    searches: "tuple[Search, ...]"
    decision: ModeDecision
    window: int
    model: str
    wire: Wire

    @property
    def exact(self) -> bool:
        """Whether this is the model's own count, and no estimate."""
        return is_exact(self.model)

    def to_json(self) -> dict[str, Any]:
        """All of it, for programs; a cost that is not known is null."""
        return {
            "window": self.window,
            "model": self.model,
            "wire": self.wire,
            "exact": self.exact,
            "rows": [self._row(row) for row in self.rows],
            "searches": [asdict(search) for search in self.searches],
            "auto": asdict(self.decision),
        }

    def _row(self, row: CostRow) -> Mapping[str, Any]:
        dollars = row.cost.dollars
        return {
            "mode": row.mode,
            "step": row.step,
            "tokens": row.overhead.tokens,
            **asdict(row.overhead),
            "share_of_window": row.overhead.tokens / self.window,
            f"dollars_per_{REQUESTS}_requests": None if dollars is None else float(dollars),
        }


async def cost_table(catalog: Catalog, *, window: int = WINDOW, share: float = SHARE, model: str = MODEL) -> CostTable:
    """Measured on the real surface, with searches for two of the catalogue's own tools."""
    from toolcrib.discovery import overhead  # late: numpy and tantivy

    wire: Wire = "anthropic" if "claude" in model.casefold() else "openai-chat"
    decision = await asyncio.to_thread(choose_mode, catalog, window, share, wire=wire)
    tools = list(catalog)
    steps, searches = await overhead.discovery_overheads(catalog, overhead.own_queries(tools), wire=wire)
    direct, compact = await asyncio.to_thread(
        lambda: (overhead.direct_overhead(tools, wire), overhead.compact_overhead(tools, wire))
    )
    spent = [
        ("direct", "at each step", direct),
        ("compact", AFTER[0], compact),
        *(("discovery", when, step) for when, step in zip(AFTER, steps, strict=False)),
    ]
    rows = [
        CostRow(mode=mode, step=step, overhead=each, cost=input_cost(each.tokens, model, requests=REQUESTS))
        for mode, step, each in spent
    ]
    return CostTable(
        rows=tuple(rows), searches=tuple(searches), decision=decision, window=window, model=model, wire=wire
    )
