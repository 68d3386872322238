"""`toolcrib search`: which tools serve a request."""

from dataclasses import asdict

from toolcrib.cli.load import load_catalog
from toolcrib.cli.options import From, Json
from toolcrib.cli.output import Columns, note, write_json
from toolcrib.search.result import SearchResult


def search(query: str, /, *, source: From = None, limit: int = 5, json: Json = False) -> int:
    """Find the tools that serve a request, in any language; exit 2 when none does.

    Example: `toolcrib search "znajdź wolną salę" --from examples/office`

    Args:
        query: What you want to do, in your own words.
        limit: How many tools at most.
    """
    from toolcrib.search.index import ToolIndex  # late: numpy and tantivy, which no other verb needs

    catalog = load_catalog(source)
    index = ToolIndex(catalog)
    found = index.search(query, limit=limit)
    if json:
        write_json(asdict(found))
    else:
        table = Columns(("name", "score", "description", "why"))
        for hit in found.hits:
            table.add(hit.name, f"{hit.score:.3f}", catalog.get(hit.name).description, hit.why)
        if found.hits:
            table.show()
        summarise(found)
    return 0 if found.hits else 2


def summarise(found: SearchResult) -> None:
    """How sure the search is and how it got there, for the person at the terminal."""
    if not found.hits:
        note(f"no tool: {found.reason or 'nothing fits'}")
    note(f"confidence {found.confidence:.2f}, {found.path}, {found.took_ms:.2f} ms")
    for warning in found.warnings:
        note(f"warning: {warning}")
