"""`toolcrib check`: every problem of a catalog at once, also what keeps its tools from being found."""

from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, TypeAlias

from cyclopts import Parameter
from rich.text import Text

from toolcrib.catalog import Catalog
from toolcrib.catalog_check import Problem
from toolcrib.cli.load import load_catalog
from toolcrib.cli.options import From, Json
from toolcrib.cli.output import clean, note, progress, say, write_json
from toolcrib.search.discoverability import Finding, discoverability

# Worth knowing, but two tools may be near each other on purpose.
ADVICE = {"confusable"}

Trouble: TypeAlias = Problem | Finding


def check(
    *,
    source: From = None,
    search: Annotated[bool, Parameter(negative="--no-search")] = True,
    json: Json = False,
) -> int:
    """Look for everything that is wrong with a catalog; exit 2 when something is.

    Every tool must be found in the first 3 by each of its own phrases, and in the first 5 by its description said in
    other words. Tools that take each other's requests are listed, but are no failure.

    Example: `toolcrib check --from examples/office`

    Args:
        search: Ask for every tool by its own words, and see whether it is found.
    """
    catalog = load_catalog(source)
    found: list[Trouble] = [*catalog.check(), *(hard_to_find(catalog) if search else ())]
    if json:
        write_json([as_dict(trouble) for trouble in found])
    else:
        show(found)
        note(f"{len(catalog)} tools, {len(found) or 'no'} problem{'' if len(found) == 1 else 's'}")
    return 2 if any(trouble.rule not in ADVICE for trouble in found) else 0


def hard_to_find(catalog: Catalog) -> list[Finding]:
    """What keeps tools from being found by the words that should find them."""
    from toolcrib.search.index import ToolIndex  # late: numpy and tantivy

    tools = progress(list(catalog), "searching")
    return discoverability(ToolIndex(catalog), tools)


def as_dict(trouble: Trouble) -> dict[str, str]:
    return {"tool": trouble.tool, "rule": trouble.rule, "message": trouble.message, "hint": trouble.hint}


def show(found: Iterable[Trouble]) -> None:
    """The problems tool by tool, each with its rule and what to do."""
    ordered = sorted(found, key=lambda trouble: trouble.tool)  # stable: within a tool, the order of the rules
    for tool, of_tool in groupby(ordered, key=lambda trouble: trouble.tool):
        say(Text(clean(tool) or "catalog", style="bold"))
        for trouble in of_tool:
            say(Text.assemble("  ", (trouble.rule, "yellow"), f": {clean(trouble.message)}"))
            say(Text.assemble("    ", ("hint:", "cyan"), f" {clean(trouble.hint)}"))
