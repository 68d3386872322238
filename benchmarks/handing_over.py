"""What one search hands over: whether the right tool is among it, and what the next request then costs.

The requests of site editors (`tests/data/cms_requests.jsonl`) go to `tool_search` in their own words, on a new toolbox
each, with the budget of a search and without one. Requests of two and three errands (`tests/seeds/errands.jsonl`) are
searched for once, too, for the tools of all their errands; so are those to other catalogs, which nothing was chosen by
(`data/errands_elsewhere.jsonl`).
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from statistics import mean, median
from types import MappingProxyType
from typing import Any

from pydantic_ai.models import TOOL_AVAILABILITY_ANNOUNCEMENT

from benchmarks import data, report
from toolcrib.agent.prompt import Prompt
from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.loading import load_catalog
from toolcrib.discovery.costs import exchange
from toolcrib.discovery.errands import errands
from toolcrib.discovery.handover import BUDGET_TOKENS
from toolcrib.discovery.protocols import protocols_block
from toolcrib.discovery.surfaces.search import SEARCH_NAME, search_surface
from toolcrib.discovery.tokens import count_tokens, definitions_tokens, message_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.index import ToolIndex
from toolcrib.sources import module
from toolcrib_cms.cms import APP

REQUESTS = Path(__file__).parents[1] / "tests/data/cms_requests.jsonl"
ERRANDS = Path(__file__).parents[1] / "tests/seeds/errands.jsonl"
ELSEWHERE = Path(__file__).parent / "data/errands_elsewhere.jsonl"
OFFICE = Path(__file__).parents[1] / "examples/office"
MODULES = ("filesystem", "memory", "web", "shell", "core")
# Catalogs of public sets that nothing was learned from: the set, and which category of it.
SETS = {"apibank": ("apibank", ""), "spotify": ("restbench", "spotify"), "azuremcp": ("azuremcp", "")}
NO_BUDGET = 10**9
NO_NAMES: Mapping[str, str] = MappingProxyType({})
PROMPT = (APP.parent / "prompt.md").read_text("utf-8")  # what the app adds to the common one
MARKS = 4  # around the prompt, as around each message
CALL_TOKENS = 20  # of the call that follows; those of the conversations take 8 to 25


@dataclass(frozen=True)
class Handed:
    """One request: where its tool came out, and the tokens of the request after a first call."""

    text: str
    right: str  # "handed over", "named" or "neither"
    tools: int
    tokens: int
    errands: int = 1  # that the request was taken for
    without_budget: "Handed | None" = None


async def hand_over(catalog: Catalog) -> list[Handed]:
    """Search for every request."""
    index = ToolIndex(catalog)
    handed: list[Handed] = []
    for row in _rows(REQUESTS):
        right = {row["tool"]} if isinstance(row["tool"], str) else set(row["tool"])
        free = await searched(catalog, index, row["text"], right, NO_BUDGET)
        bound = await searched(catalog, index, row["text"], right, BUDGET_TOKENS)
        handed.append(replace(bound, without_budget=free))
    return handed


async def searched(catalog: Catalog, index: ToolIndex, text: str, right: set[str], budget: int) -> Handed:
    """One search on a new toolbox."""
    toolbox = Toolbox(catalog, index, surface=partial(search_surface, budget_tokens=budget))
    result = await toolbox.call(SEARCH_NAME, {"query": text})
    found, visible = result.value, toolbox.visible()
    place = "handed over" if right & set(found.tools) else "named" if right & set(found.named) else "neither"
    prompt = Prompt(more=PROMPT).render(today=date(2026, 1, 1), finders=[SEARCH_NAME])
    tokens = (
        count_tokens(prompt)
        + MARKS
        + definitions_tokens(visible)
        + count_tokens(protocols_block(visible))
        + message_tokens(exchange(SEARCH_NAME, {"query": text}, result.text))
        + count_tokens(TOOL_AVAILABILITY_ANNOUNCEMENT.format(names=", ".join(f"`{name}`" for name in found.activated)))
        + CALL_TOKENS
        + 2 * MARKS
    )
    asked = sum(max(1, len(errand.extras)) for errand in errands(text))
    return Handed(text, place, len(found.tools), tokens, asked)


@dataclass(frozen=True)
class Errands:
    """A request for two or three things: whether one search handed over the tools of all of them."""

    catalog: str
    language: str
    served: bool


async def complete(catalog: Catalog) -> list[Errands]:
    """The requests for several things to the CMS, each searched for once."""
    return await _complete("cms", catalog, _rows(ERRANDS))


async def complete_elsewhere() -> list[Errands]:
    """The same on other catalogs; those of a public set that is not on this machine are left out."""
    rows = _rows(ELSEWHERE)
    asked: list[Errands] = []
    for name in dict.fromkeys(row["catalog"] for row in rows):
        with tempfile.TemporaryDirectory() as folder:
            found = other_catalog(name, Path(folder))
            if found is not None:
                catalog, names = found
                asked += await _complete(name, catalog, [row for row in rows if row["catalog"] == name], names)
    return asked


def other_catalog(name: str, folder: Path) -> tuple[Catalog, Mapping[str, str]] | None:
    """A catalog by the name that the requests give it, with our names for the tools of its data."""
    if name == "office":
        return load_catalog(str(OFFICE)), {}
    if name == "modules":
        return Catalog(tool for one in MODULES for tool in module(one, workdir=folder)), {}
    place, category = SETS[name]
    if not (data.data_folder() / place).is_dir():
        return None
    bench = data.load(place, limit=0)
    tools = [tool for tool in bench.tools if category in ("", tool.category)]
    return Catalog(tools), {identity.partition(":")[2] or identity: ours for identity, ours in bench.names.items()}


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def _complete(
    name: str, catalog: Catalog, rows: Iterable[Mapping[str, Any]], names: Mapping[str, str] = NO_NAMES
) -> list[Errands]:
    index = ToolIndex(catalog)
    asked: list[Errands] = []
    for row in rows:
        wanted = [{catalog.get(names.get(tool, tool)).name for tool in tools} for tools in row["errands"]]
        found = (await Toolbox(catalog, index, surface=search_surface).call(SEARCH_NAME, {"query": row["text"]})).value
        asked.append(Errands(name, row["lang"], all(tools & {*found.tools} for tools in wanted)))
    return asked


def served(asked: Sequence[Errands], by: str) -> report.Table:
    """How many requests of several errands were served by one search, by `language` or by `catalog`."""
    groups: dict[str, list[bool]] = {}
    for one in asked:
        groups.setdefault(getattr(one, by), []).append(one.served)
    counts = [f"{sum(group)} of {len(group)}" for group in [*groups.values(), [one.served for one in asked]]]
    return [[*groups, "all"], counts]


def handing(handed: Sequence[Handed]) -> report.Table:
    """With the budget and without."""
    free = [one.without_budget for one in handed if one.without_budget is not None]
    head = ["", "right tool handed over", "named", "neither", "tools", "tokens, median", "mean", "most"]
    return [head, _row(f"budget of {BUDGET_TOKENS} tokens", handed), _row("without a budget", free)]


def _row(label: str, handed: Sequence[Handed]) -> list[object]:
    places, tokens = Counter(one.right for one in handed), [one.tokens for one in handed]
    counts = [places[place] for place in ("handed over", "named", "neither")]
    tools = f"{mean(one.tools for one in handed):.1f}"
    return [label, *counts, tools, f"{median(tokens):,.0f}", f"{mean(tokens):,.0f}", f"{max(tokens):,}"]
