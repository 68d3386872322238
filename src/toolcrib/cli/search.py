"""`toolcrib search`: which tools serve a request."""

from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from toolcrib.cli.options import EmbedderName, From, Json, load_catalog, make_index
from toolcrib.cli.output import Columns, note, say, write_json
from toolcrib.search.result import SearchResult

# `toolcrib explain`: why a tool is, or is not, found by a request.


def explain(query: str, name: str, /, *, source: From = None, embedder: EmbedderName = None, json: Json = False) -> int:
    """Explain how a tool is ranked for a request.

    Shows the tool's lexical rank and the words that matched, its dense rank and nearest text, how well request and
    tool cover each other word by word, and the thresholds behind the decision.

    Example: `toolcrib explain "the wifi is down" reset_password --from examples/office`

    Args:
        query: A request, in your own words.
        name: The tool's name.
    """
    catalog = load_catalog(source)
    explanation = make_index(catalog, embedder).explain(query, catalog.get(name).name)
    if json:
        write_json(asdict(explanation))
    else:
        say(explanation.render())
    return 0


def search(
    query: str,
    /,
    *,
    source: From = None,
    limit: int = 5,
    explain: Annotated[bool, Parameter(show_default=False)] = False,
    embedder: EmbedderName = None,
    json: Json = False,
) -> int:
    """Find the tools for a request in any language; exit code 2 if there are none.

    Example: `toolcrib search "znajdź wolną salę" --from examples/office`

    Args:
        query: What you want to do, in your own words.
        limit: The most tools to show.
        explain: Explain the rank of each tool; if none was found, that of the nearest.
    """
    from toolcrib.search.query import SearchOptions  # late: numpy

    catalog = load_catalog(source)
    index = make_index(catalog, embedder)
    found = index.search(query, limit=limit)
    explained = found.names
    if explain and not explained:
        explained = index.search(query, limit=1, options=SearchOptions(abstain=False)).names
    explanations = [index.explain(query, name) for name in explained] if explain else []
    if json:
        extra = {"explanations": [asdict(explanation) for explanation in explanations]} if explain else {}
        write_json(asdict(found) | extra)
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
