"""`toolcrib tools` and `toolcrib check`: the tools of a catalog, and its problems."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import App, Parameter
from rich.text import Text

from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.check import Problem
from toolcrib.cli.options import EmbedderName, From, Json, load_catalog, make_index
from toolcrib.cli.output import Columns, clean, note, progress, say, write_json
from toolcrib.tools.tool import Extraction, Tool

if TYPE_CHECKING:
    from toolcrib.evals.retrieval import Finding

# `toolcrib check`: every problem of a catalog at once, also what keeps its tools from being found.

# Worth knowing, but two tools may be near each other on purpose.
ADVICE = {"confusable"}

Trouble: TypeAlias = "Problem | Finding"


def check(
    *,
    source: From = None,
    search: Annotated[bool, Parameter(negative="--no-search")] = True,
    embedder: EmbedderName = None,
    json: Json = False,
) -> int:
    """Check a catalog for problems; exit code 2 if there are any.

    Every tool must be among the first 3 hits for each of its phrases, and among the first 5 for its description in
    other words. Tools that win each other's requests are listed, but are not a failure.

    Example: `toolcrib check --from examples/office`

    Args:
        search: Search for every tool by its own texts.
    """
    catalog = load_catalog(source)
    found: list[Trouble] = [*catalog.check(), *(hard_to_find(catalog, embedder) if search else ())]
    if json:
        write_json([problem_as_dict(trouble) for trouble in found])
    else:
        show_problems(found)
        note(f"{len(catalog)} tools, {len(found) or 'no'} problem{'' if len(found) == 1 else 's'}")
    return 2 if any(trouble.rule not in ADVICE for trouble in found) else 0


def hard_to_find(catalog: Catalog, embedder: str | None = None) -> "list[Finding]":
    """Reasons why tools are not found by the words that should find them."""
    from toolcrib.evals.retrieval import discoverability  # late: numpy

    tools = progress(list(catalog), "searching")
    return discoverability(make_index(catalog, embedder, probe=True), tools)


def problem_as_dict(trouble: Trouble) -> dict[str, str]:
    return {"tool": trouble.tool, "rule": trouble.rule, "message": trouble.message, "hint": trouble.hint}


def show_problems(found: Iterable[Trouble]) -> None:
    """The problems tool by tool, each with its rule and what to do."""
    ordered = sorted(found, key=lambda trouble: trouble.tool)  # stable: within a tool, the order of the rules
    for tool, of_tool in groupby(ordered, key=lambda trouble: trouble.tool):
        say(Text(clean(tool) or "catalog", style="bold"))
        for trouble in of_tool:
            say(Text.assemble("  ", (trouble.rule, "yellow"), f": {clean(trouble.message)}"))
            say(Text.assemble("    ", ("hint:", "cyan"), f" {clean(trouble.hint)}"))


app = App(name="tools", help="List the tools of a catalog, or show one of them.")


@app.command(name="list")
def list_tools(*, source: From = None, category: str | None = None, json: Json = False) -> int:
    """List the tools, one per line.

    Example: `toolcrib tools list --from examples/office`

    Args:
        category: Only tools of this category.
    """
    tools = [tool for tool in load_catalog(source) if category in (None, tool.category)]
    if json:
        write_json([as_dict(tool) for tool in tools])
        return 0
    table = Columns(("name", "category", "risk", "description"))
    for tool in tools:
        table.add(tool.name, tool.category, tool.risk.value, tool.description)
    table.show()
    note(f"{len(tools)} tools" if len(tools) != 1 else "1 tool")
    return 0


@app.command
def show(name: str, /, *, source: From = None, json: Json = False) -> int:
    """Show one tool: its texts, parameters and protocol.

    Example: `toolcrib tools show send_mail --from examples/office`

    Args:
        name: The tool's name.
    """
    tool = load_catalog(source).get(name)
    if json:
        write_json(as_dict(tool))
        return 0
    say(Text(tool.name, style="bold"))
    say(tool.description)
    for label, text in _facts(tool):
        say(Text.assemble((f"{label}:", "bold"), "" if text.startswith("\n") else " ", clean(text)))
    return 0


def as_dict(tool: Tool) -> dict[str, object]:
    """A tool as JSON."""
    return {
        "name": tool.name,
        "description": tool.description,
        "category": tool.category,
        "phrases": list(tool.phrases),
        "related": list(tool.related),
        "risk": tool.risk.value,
        "confirm": tool.confirm,
        "protocol": asdict(tool.protocol) if tool.protocol else None,
        "extraction": _extraction(tool),
        "source": tool.source,
        "parameters": dict(tool.parameters),
    }


def _facts(tool: Tool) -> Iterator[tuple[str, str]]:
    """The lines of `show` besides name and description; empty ones are left out."""
    facts = {
        "category": tool.category,
        "risk": f"{tool.risk.value}{', asks the user first' if tool.confirm else ''}",
        "phrases": "; ".join(tool.phrases),
        "related": ", ".join(tool.related),
        "parameters": "".join(f"\n  {line}" for line in _parameters(tool.parameters)),
        "protocol": "".join(f"\n  {line}" for line in tool.protocol.render().splitlines()) if tool.protocol else "",
        "source": tool.source,
    }
    return ((label, text) for label, text in facts.items() if text)


def _parameters(schema: Mapping[str, Any]) -> Iterator[str]:
    """One line a parameter: `limit: integer = 5 - How many.`"""
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    for name, field in properties.items():
        optional = f" = {field['default']!r}" if "default" in field else ""
        described = f" - {field['description']}" if field.get("description") else ""
        yield f"{name}: {_type(field)}{optional}{described}"


def _type(field: Mapping[str, Any]) -> str:
    """A JSON Schema type in a word or two."""
    if "enum" in field:
        return " | ".join(repr(choice) for choice in field["enum"])
    if "anyOf" in field:
        return " | ".join(_type(choice) for choice in field["anyOf"])
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    kind = str(field.get("type", "any"))
    if kind == "array" and field.get("items"):
        return f"array of {_type(field['items'])}"
    return f"{kind} ({field['format']})" if "format" in field else kind


def _extraction(tool: Tool) -> object:
    if tool.extraction is None or isinstance(tool.extraction, Extraction):
        return tool.extraction and asdict(tool.extraction)
    return getattr(tool.extraction, "__qualname__", repr(tool.extraction))
