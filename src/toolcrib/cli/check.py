"""`toolcrib check`: every problem of a catalog at once."""

from collections.abc import Iterable
from itertools import groupby

from rich.text import Text

from toolcrib.catalog_check import Problem
from toolcrib.cli.load import load_catalog
from toolcrib.cli.options import From, Json
from toolcrib.cli.output import clean, note, say, write_json


def check(*, source: From = None, json: Json = False) -> int:
    """Look for everything that is wrong with a catalog; exit 2 when something is.

    Example: `toolcrib check --from examples/office`
    """
    catalog = load_catalog(source)
    problems = catalog.check()
    if json:
        write_json([as_dict(problem) for problem in problems])
    else:
        show(problems)
        note(f"{len(catalog)} tools, {len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'}")
    return 2 if problems else 0


def as_dict(problem: Problem) -> dict[str, str]:
    return {"tool": problem.tool, "rule": problem.rule, "message": problem.message, "hint": problem.hint}


def show(problems: Iterable[Problem]) -> None:
    """The problems tool by tool, each with its rule and what to do."""
    ordered = sorted(problems, key=lambda problem: problem.tool)  # stable: within a tool, the order of the rules
    for tool, of_tool in groupby(ordered, key=lambda problem: problem.tool):
        say(Text(clean(tool) or "catalog", style="bold"))
        for problem in of_tool:
            say(Text.assemble("  ", (problem.rule, "yellow"), f": {clean(problem.message)}"))
            say(Text.assemble("    ", ("hint:", "cyan"), f" {clean(problem.hint)}"))
