"""What one search hands over: whether the right tool is among it, and what the next request then costs.

The requests of site editors (`tests/data/cms_requests.jsonl`) go to `tool_search` in their own words, on a new toolbox
each, with the budget of a search and without one. Requests of two and three errands (`tests/seeds/errands.jsonl`) are
searched for once, too, for the tools of all their errands.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from statistics import mean, median

from pydantic_ai.models import TOOL_AVAILABILITY_ANNOUNCEMENT

from benchmarks import report
from toolcrib.agent.prompt import Prompt
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.costs import exchange
from toolcrib.discovery.errands import errands
from toolcrib.discovery.handover import BUDGET_TOKENS
from toolcrib.discovery.protocols import protocols_block
from toolcrib.discovery.surfaces.search import SEARCH_NAME, search_surface
from toolcrib.discovery.tokens import count_tokens, definitions_tokens, message_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.search.index import ToolIndex
from toolcrib_cms.cms import APP

REQUESTS = Path(__file__).parents[1] / "tests/data/cms_requests.jsonl"
ERRANDS = Path(__file__).parents[1] / "tests/seeds/errands.jsonl"
NO_BUDGET = 10**9
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
    rows = [json.loads(line) for line in REQUESTS.read_text("utf-8").splitlines()]
    handed: list[Handed] = []
    for row in rows:
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


async def complete(catalog: Catalog) -> list[tuple[str, bool]]:
    """The language of each request of several errands, and whether one search handed over the tools of all of them."""
    index = ToolIndex(catalog)
    asked: list[tuple[str, bool]] = []
    for row in map(json.loads, ERRANDS.read_text("utf-8").splitlines()):
        toolbox = Toolbox(catalog, index, surface=search_surface)
        found = (await toolbox.call(SEARCH_NAME, {"query": row["text"]})).value
        asked.append((row["lang"], all({*tools} & {*found.tools} for tools in row["errands"])))
    return asked


def by_language(asked: Sequence[tuple[str, bool]]) -> report.Table:
    """How many requests of several errands were served by one search."""
    languages = list(dict.fromkeys(language for language, _ in asked))
    groups = [[good for language, good in asked if language == one] for one in languages]
    counts = [f"{sum(group)} of {len(group)}" for group in [*groups, [good for _, good in asked]]]
    return [[*languages, "all"], counts]


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
