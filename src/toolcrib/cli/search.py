"""`toolcrib search`: which tools serve a request."""

from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from toolcrib.cli.load import load_catalog
from toolcrib.cli.options import From, Json
from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.search.result import SearchResult


def search(
    query: str,
    /,
    *,
    source: From = None,
    limit: int = 5,
    explain: Annotated[bool, Parameter(show_default=False)] = False,
    json: Json = False,
) -> int:
    """Find the tools that serve a request, in any language; exit 2 when none does.

    Example: `toolcrib search "znajdź wolną salę" --from examples/office`

    Args:
        query: What you want to do, in your own words.
        limit: How many tools at most.
        explain: Tell why each tool stands where it stands; when none was found, why the nearest was not.
    """
    from toolcrib.search.index import ToolIndex  # late: numpy and tantivy, which no other verb needs

    catalog = load_catalog(source)
    index = ToolIndex(catalog)
    found = index.search(query, limit=limit)
    explained = found.names
    if explain and not explained:
        explained = ToolIndex(catalog, abstain=False).search(query, limit=1).names
    explanations = [index.explain(query, name) for name in explained] if explain else []
    if json:
        told = {"explanations": [asdict(explanation) for explanation in explanations]} if explain else {}
        write_json(asdict(found) | told)
    else:
        table = Columns(("name", "score", "description", "why"))
        for hit in found.hits:
            table.add(hit.name, f"{hit.score:.3f}", catalog.get(hit.name).description, hit.why)
        if found.hits:
            table.show()
        for explanation in explanations:
            say(f"\n{explanation.render()}")
        summarise(found)
    return 0 if found.hits else 2


def summarise(found: SearchResult) -> None:
    """How sure the search is and how it got there, for the person at the terminal."""
    if not found.hits:
        note(f"no tool: {found.reason or 'nothing fits'}")
    note(f"confidence {found.confidence:.2f}, {found.path}, {found.took_ms:.2f} ms")
    for warning in found.warnings:
        note(f"warning: {warning}")
