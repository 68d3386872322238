"""What tools cost at a step: definitions, lists in the prompt, discovery's own messages, active protocols.

Measured on the real surface and toolbox, with searches for the catalog's own tools.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.modes import SHARE, Mode, ModeDecision, choose_mode
from toolcrib.discovery.native import Wire
from toolcrib.discovery.protocols import protocols_block
from toolcrib.discovery.render import compact_list
from toolcrib.discovery.surfaces.browse import compact_surface
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.tokens import compact_json, count_tokens, definitions_tokens, is_exact, message_tokens
from toolcrib.discovery.toolbox import Surface, Toolbox
from toolcrib.errors import ModeError
from toolcrib.search.interface import SearchIndex
from toolcrib.tools.text import first_sentence
from toolcrib.tools.tool import Tool

SEARCHES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """The tokens that tools take in one request, by what they are spent on."""

    definitions: int = 0
    prompt: int = 0  # the list of names in compact mode
    results: int = 0  # calls of discovery tools and what they answered
    protocols: int = 0
    visible: int = 0  # how many definitions

    @property
    def tokens(self) -> int:
        """The sum of all parts."""
        return self.definitions + self.prompt + self.results + self.protocols


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search that was made, and the tools that became active by it."""

    query: str
    activated: tuple[str, ...]


def direct_overhead(tools: Sequence[Tool], wire: Wire = "openai-chat") -> Overhead:
    """Every definition at every step. Protocols are left out, as agents that load all their tools have none."""
    return Overhead(definitions=definitions_tokens(tools, wire), visible=len(tools))


def compact_overhead(tools: Sequence[Tool], wire: Wire = "openai-chat") -> Overhead:
    """Every name with one line, and `get_tool`."""
    surface = compact_surface(Toolbox(Catalog()))
    return Overhead(
        definitions=definitions_tokens(surface, wire), prompt=count_tokens(compact_list(tools)), visible=len(surface)
    )


async def discovery_overheads(
    catalog: Catalog,
    queries: Iterable[str],
    *,
    index: SearchIndex | None = None,
    surface: Surface = search_surface,
    wire: Wire = "openai-chat",
) -> tuple[list[Overhead], list[Search]]:
    """What discovery takes before any search and after each one; uses the first tool of the surface."""
    toolbox = Toolbox(catalog, index, surface=surface)
    finder = toolbox.surface[0].name
    messages: list[dict[str, Any]] = []
    steps, searches = [_discovery_step(toolbox, messages, wire)], list[Search]()
    for query in queries:
        before = set(toolbox.active)
        result = await toolbox.call(finder, {"query": query})
        messages += exchange(finder, {"query": query}, result.text)
        steps.append(_discovery_step(toolbox, messages, wire))
        found = tuple(name for name in toolbox.active if name not in before)
        searches.append(Search(query=query, activated=found))
    return steps, searches


def sample_queries(tools: Sequence[Tool], count: int = SEARCHES) -> list[str]:
    """Requests that the tools themselves answer: the first phrase, or sentence, of tools spread over the catalog."""
    if not tools:
        return []
    spread = (tools[len(tools) * place // (count + 1)] for place in range(1, count + 1))
    chosen = {tool.name: tool for tool in spread}.values()
    return [next(iter(tool.phrases), "") or first_sentence(tool.description) or tool.name for tool in chosen]


def _discovery_step(toolbox: Toolbox, messages: Sequence[dict[str, Any]], wire: Wire) -> Overhead:
    visible = toolbox.visible()
    return Overhead(
        definitions=definitions_tokens(visible, wire),
        results=message_tokens(messages),
        protocols=count_tokens(protocols_block(visible)),
        visible=len(visible),
    )


def exchange(name: str, arguments: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """A call and its result as messages."""
    call = {"type": "function", "function": {"name": name, "arguments": compact_json(arguments)}}
    return [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": text}]


# Prices of models. An unknown price is None, never 0.

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The price of tokens in US dollars; unknown for some models."""

    model: str
    dollars: Decimal | None

    def __str__(self) -> str:
        if self.dollars is None:
            return UNKNOWN
        return f"${self.dollars:,.2f}" if self.dollars >= 1 else f"${self.dollars:.4f}"


def input_cost(tokens: int, model: str, *, requests: int = 1) -> Cost:
    """The cost of `requests` requests that send `tokens` each, nothing of it cached.

    `model` may name its provider: `openai:gpt-5.4`. Prices come with the package `genai-prices`, as of its release.
    """
    each = _input_price(tokens, model)
    return Cost(model=model, dollars=None if each is None else each * requests)


@cache
def price_per_million(model: str, *, cached: bool = False) -> float | None:
    """Dollars for a million tokens of input, or of what the provider's prompt cache holds; None if it is not known."""
    price = _input_price(1_000_000, model, cached=cached)
    return None if price is None else float(price)


def _input_price(tokens: int, model: str, *, cached: bool = False) -> Decimal | None:
    try:
        from genai_prices import Usage, calc_price  # late, and only with the extra `tokens`
    except ImportError:
        return None
    usage = Usage(input_tokens=tokens, cache_read_tokens=tokens if cached else None)
    for provider, name in _readings(model):
        try:
            price = calc_price(usage, name, provider_id=provider)
        except LookupError:
            continue
        # A model that is listed without a price costs 0 there; what it costs is not known.
        return price.input_price if price.input_price or not tokens else None
    return None


def _readings(model: str) -> Iterator[tuple[str | None, str]]:
    """A model's name as `provider:name`, as `provider/name`, and as it stands."""
    for mark in (":", "/"):
        provider, found, name = model.partition(mark)
        if found:
            yield provider, name
    yield None, model


# The table of `toolcrib tokens` and the page: what a catalog costs in each mode, at each step

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
        """The table as JSON; an unknown cost is null."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyCost:
    """What tools cost a day in one mode, for a mix of requests."""

    mode: str
    tokens: float  # of a request, in the mean
    day: Cost
    month: Cost

    def to_json(self) -> dict[str, Any]:
        """The costs as JSON; an unknown cost is null."""
        return {
            "mode": self.mode,
            "tokens": self.tokens,
            "dollars_per_day": None if self.day.dollars is None else float(self.day.dollars),
            "dollars_per_month": None if self.month.dollars is None else float(self.month.dollars),
        }


DAYS = 30  # of a month


def daily_costs(table: CostTable, mix: Sequence[float], requests: int = REQUESTS) -> tuple[DailyCost, ...]:
    """Direct and discovery side by side, for `requests` a day.

    `mix` are the shares of requests that are answered without a search (A), after one (B) and after two (C).
    """
    if len(mix) != len(AFTER) or min(mix) < 0 or not sum(mix) or requests < 1:
        raise ModeError(
            f"A mix of {tuple(mix)} for {requests} requests a day cannot be.",
            hint="Give the shares of requests with no search, one and two, such as 30,50,20.",
        )
    steps = [row.overhead.tokens for row in table.rows if row.mode == Mode.DISCOVERY]
    steps += steps[-1:] * (len(AFTER) - len(steps))  # a catalog of one tool is searched once
    found = sum(share * tokens for share, tokens in zip(mix, steps, strict=True)) / sum(mix)
    means = {Mode.DIRECT: float(table.rows[0].overhead.tokens), Mode.DISCOVERY: found}
    return tuple(
        DailyCost(
            mode=mode,
            tokens=tokens,
            day=input_cost(round(tokens), table.model, requests=requests),
            month=input_cost(round(tokens), table.model, requests=requests * DAYS),
        )
        for mode, tokens in means.items()
    )


async def cost_table(catalog: Catalog, *, window: int = WINDOW, share: float = SHARE, model: str = MODEL) -> CostTable:
    """Measured on the real surface, with searches for two of the catalog's own tools."""
    wire: Wire = "anthropic" if "claude" in model.casefold() else "openai-chat"
    decision = await asyncio.to_thread(choose_mode, catalog, window, share, wire=wire)
    tools = list(catalog)
    steps, searches = await discovery_overheads(catalog, sample_queries(tools), wire=wire)
    direct, compact = await asyncio.to_thread(lambda: (direct_overhead(tools, wire), compact_overhead(tools, wire)))
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
