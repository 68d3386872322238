"""What tools cost in tokens: all of them loaded, a line each, or found by search, at 45 to 10,000 real tools.

    python benchmarks/tokens.py                       # into benchmarks/results/tokens.md and .json
    python benchmarks/tokens.py --sizes 45,200

Counted is what a request carries because of its tools: system prompt, definitions, discovery's calls and results, and
active protocols; exact o200k. The 45 tools are those of the CMS, the others a random draw from the MCP catalog. Exit
status 1 means that a promise at the end of the page is broken.
"""

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs as a file

import toolcrib_cms
from benchmarks import report
from benchmarks.latency import tools_of_size
from toolcrib.agent.prompt import Prompt
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.costs import (
    Overhead,
    compact_overhead,
    direct_overhead,
    discovery_overheads,
    exchange,
    sample_queries,
)
from toolcrib.discovery.modes import choose_mode
from toolcrib.discovery.protocols import Guidance, protocols_block
from toolcrib.discovery.surfaces.browse import browse_surface
from toolcrib.discovery.surfaces.search import SEARCH_NAME
from toolcrib.discovery.tokens import count_tokens, definitions_tokens, is_exact, message_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.evals.retrieval import percentile
from toolcrib.search.index import ToolIndex
from toolcrib.tools.tool import Tool
from toolcrib_cms.cms import GUIDANCE

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
CMS = 45
SIZES = (CMS, 200, 1_000, 10_000)
WINDOWS = (16_000, 128_000, 200_000, 1_000_000)
SESSIONS = 25  # of two searches each; what a search finds differs, so the page shows the median and the 90th percentile

# Requests that name no tool: the search is not sure, so it shows up to eight, and a session is at its dearest.
VAGUE = (
    "help me with my data",
    "create something new",
    "show me what changed",
    "send it to them",
    "clean everything up",
)

KEPT = {True: "yes", False: "**no**"}
MOST_AT_STEP_0 = 500
MOST_BROWSE_AT_200 = 2_000
PROTOCOLS_SMALLER = 3


Promise = tuple[str, str, bool]  # what was promised, what was measured, whether it holds


def main() -> int:
    """Measure every size, then write the page and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=list(SIZES))
    parser.add_argument("--out", type=Path, default=RESULTS / "tokens", help="path of the page, without suffix")
    chosen = parser.parse_args()
    if not is_exact():
        print("error: exact counts need bpe-openai\nhint: pip install 'toolcrib[tokens]'", file=sys.stderr)
        return 1
    prompt = agent_prompt()
    figures = [measured(size, prompt) for size in chosen.sizes]
    notes = protocols_beside_guidance()
    promises = kept(figures, notes)
    write(chosen.out, figures, notes, promises, prompt)
    return 1 if not all(good for _, _, good in promises) else 0


def agent_prompt() -> int:
    """The tokens of the agent's prompt as a model gets it before anything was found."""
    return count_tokens(Prompt().render(today=date(2026, 1, 1), finders=[SEARCH_NAME]))


def measured(size: int, prompt: int) -> dict[str, Any]:
    """One catalog in every mode; each figure includes the system prompt."""
    tools = cms_tools() if size == CMS else tools_of_size(size)
    catalog = Catalog(tools)
    index = ToolIndex(catalog)
    direct, compact = direct_overhead(tools), compact_overhead(tools)
    sessions = [asyncio.run(session(catalog, index, pair)) for pair in requests(tools)]
    vague = [asyncio.run(session(catalog, index, [query]))[1].tokens for query in VAGUE]
    browse, categories = asyncio.run(browsing(catalog, index))
    row = {
        "tools": size,
        "without_parameters": sum(not tool.parameters.get("properties") for tool in tools),
        "direct": prompt + direct.tokens,
        "compact": prompt + compact.tokens,
        "discovery_step_0": sorted({prompt + steps[0].tokens for steps in sessions}),
        "after_one_search": spread([prompt + steps[1].tokens for steps in sessions]),
        "after_two_searches": spread([prompt + steps[2].tokens for steps in sessions]),
        "after_a_vague_search": prompt + max(vague),
        "tools_active_after_two": median(steps[2].visible - 1 for steps in sessions),
        "browse_step_0": prompt + browse,
        "browse_with_categories": prompt + browse + categories,
        "auto": {window: choose_mode(catalog, window).mode.value for window in WINDOWS},
        "example": [asdict(step) for step in sessions[0]],
    }
    print(row, file=sys.stderr, flush=True)
    return row


def cms_tools() -> list[Tool]:
    return list(toolcrib_cms.build(":memory:", seeded=False).catalog)


def requests(tools: Sequence[Tool]) -> list[list[str]]:
    """Two requests a session, each for a tool of the catalog in its own words."""
    dice = random.Random(0)
    return [
        sample_queries(dice.sample(list(tools), 2), 1) + sample_queries(dice.sample(list(tools), 2), 1)
        for _ in range(SESSIONS)
    ]


async def session(catalog: Catalog, index: ToolIndex, queries: Sequence[str]) -> list[Overhead]:
    return (await discovery_overheads(catalog, queries, index=index))[0]


async def browsing(catalog: Catalog, index: ToolIndex) -> tuple[int, int]:
    """The five tools of the browse surface, and the call that lists the categories with its answer."""
    toolbox = Toolbox(catalog, index, surface=browse_surface)
    listed = await toolbox.call("list_categories", {})
    return definitions_tokens(toolbox.surface), message_tokens(exchange("list_categories", {}, listed.text))


def spread(values: Sequence[int]) -> dict[str, float]:
    return {"median": median(values), "p90": percentile(values, 90)}


def protocols_beside_guidance() -> dict[str, Any]:
    """The block for two active tools of the CMS, against everything that is said about their categories.

    That is what a prompt carries which loads guidance by category: the category's text and the notes of all its tools.
    """
    catalog, guidance = Catalog(cms_tools()), Guidance(GUIDANCE)
    by_category: dict[str, list[Tool]] = {}
    for tool in catalog:
        by_category.setdefault(tool.category, []).append(tool)
    about = {category: count_tokens(protocols_block(tools, guidance)) for category, tools in by_category.items()}
    noted = [tool for tool in catalog if tool.protocol is not None]
    ratios = [
        sum(about[category] for category in {one.category, other.category})
        / count_tokens(protocols_block([one, other]))
        for one, other in combinations(noted, 2)
    ]
    return {"pairs": len(ratios), "median": median(ratios), "least": min(ratios)}


def kept(figures: Sequence[dict[str, Any]], notes: dict[str, Any]) -> list[Promise]:
    """What was promised, what was measured, and whether it holds."""
    starts = sorted({start for row in figures for start in row["discovery_step_0"]})
    promises = [
        (
            "discovery at step 0 does not grow with the catalog",
            f"{' to '.join(f'{start:,}' for start in starts)} tokens at every size",
            len(starts) == 1,
        ),
        (
            f"and stays under {MOST_AT_STEP_0} with the agent's prompt",
            f"{starts[-1]:,}",
            starts[-1] < MOST_AT_STEP_0,
        ),
    ]
    for row in figures:
        if row["tools"] == 200:
            taken = row["browse_with_categories"]
            promises.append(
                (
                    f"browse with its category index stays under {MOST_BROWSE_AT_200:,} at 200 tools",
                    f"{taken:,}",
                    taken < MOST_BROWSE_AT_200,
                )
            )
    promises.append(
        (
            f"two active tools' protocols are {PROTOCOLS_SMALLER} times smaller than all guidance of their categories",
            f"{notes['median']:.1f} times in the median, {notes['least']:.1f} at least, of {notes['pairs']} pairs of "
            "CMS tools; all guidance is a category's text and the notes of all its tools "
            "(the texts alone are shorter than two protocols)",
            notes["median"] >= PROTOCOLS_SMALLER,
        )
    )
    return promises


def write(
    out: Path,
    figures: Sequence[dict[str, Any]],
    notes: dict[str, Any],
    promises: Sequence[Promise],
    prompt: int,
) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "agent_prompt_tokens": prompt,
        "sizes": list(figures),
        "protocols": notes,
        "promises": [{"promise": what, "measured": value, "kept": good} for what, value, good in promises],
    }
    out.with_suffix(".json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page = [
        "# Tokens",
        "Written by `python benchmarks/tokens.py`; exact o200k counts of what a request carries because of its tools: "
        f"system prompt ({prompt} tokens), definitions, discovery's calls and results, active protocols.",
        "## Each mode",
        report.markdown(overview(figures)),
        f"*After a search*: the median of {SESSIONS} sessions (in brackets, the 90th percentile), each with two "
        "requests for tools of the catalog in their own words, of which the search is sure. *Vague*: the dearest of "
        f"{len(VAGUE)} requests that name no tool, such as {VAGUE[0]!r}. *Browse* shows five tools; the category index "
        "is the first page of `list_categories`.",
        "*Direct* is paid at every step, but providers cache a prompt that does not change; what that saves is not "
        f"here. Of the {figures[-1]['tools']:,} tools {figures[-1]['without_parameters']:,} take no arguments, most "
        "because they were collected without their schemas: a catalog of whole definitions costs more than this.",
        "## Which mode `auto` takes, at 20 % of the window",
        report.markdown(modes(figures)),
        "## What was promised",
        report.markdown(
            [["promise", "measured", "kept"], *([what, value, KEPT[good]] for what, value, good in promises)]
        ),
    ]
    out.with_suffix(".md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


def overview(figures: Sequence[dict[str, Any]]) -> report.Table:
    head = [
        "tools",
        "direct",
        "compact",
        "discovery at step 0",
        "after one search",
        "after two",
        "vague",
        "direct / after two",
    ]
    head += ["browse at step 0", "with category index"]
    rows = [
        [
            f"{row['tools']:,}",
            f"{row['direct']:,}",
            f"{row['compact']:,}",
            " to ".join(f"{start:,}" for start in row["discovery_step_0"]),
            both(row["after_one_search"]),
            both(row["after_two_searches"]),
            f"{row['after_a_vague_search']:,}",
            f"{row['direct'] / row['after_two_searches']['median']:.0f} x",
            f"{row['browse_step_0']:,}",
            f"{row['browse_with_categories']:,}",
        ]
        for row in figures
    ]
    return [head, *rows]


def both(values: dict[str, float]) -> str:
    return f"{values['median']:,.0f} ({values['p90']:,.0f})"


def modes(figures: Sequence[dict[str, Any]]) -> report.Table:
    head = ["tools", *(f"{window:,}" for window in WINDOWS)]
    return [head, *([f"{row['tools']:,}", *(row["auto"][window] for window in WINDOWS)] for row in figures)]


if __name__ == "__main__":
    sys.exit(main())
