"""The tools with requests written for this project, as catalogs like the public sets: to fit with, and to report on.

A server's tools are asked for together or not at all, so that each catalog is one nobody trained for.
"""

from collections.abc import Mapping, Sequence

from benchmarks.data import CATALOG, BenchSet, Query, as_tool, load, unique_names
from toolcrib.tools.tool import Tool
from training.asked import Asked, Purpose, Story, invented_tools, mcp_requests, purpose, server_of, stories

WRITTEN = ("our_mcp", "our_invented", "our_stories")


def written_sets(wanted: Purpose) -> dict[str, BenchSet]:
    """The sets, with what serves this purpose alone."""
    catalog = load(CATALOG)
    real = {id: tool for id, tool in zip(catalog.names, catalog.tools, strict=True) if purpose(server_of(id)) == wanted}
    invented = {tool.name: tool for tool in invented_tools() if purpose(tool.name) == wanted}
    rows = [{"id": name, "name": name, "description": tool.description} for name, tool in invented.items()]
    names = unique_names(rows)
    made = {row["id"]: as_tool(row, names[row["id"]]) for row in rows}
    asked = [one for tool in invented.values() for one in tool.requests]
    return {
        "our_mcp": _set("our_mcp", real, [_alone(one) for one in mcp_requests() if one.tool in real]),
        "our_invented": _set("our_invented", made, [_alone(one) for one in asked]),
        "our_stories": _set("our_stories", made, [story for story in stories() if story.tools[0] in made]),
    }


def _alone(one: Asked) -> Story:
    """A request to one tool, as a story is told."""
    return Story(one.language, one.text, (one.tool,))


def _set(name: str, tools: Mapping[str, Tool], asked: Sequence[Story]) -> BenchSet:
    queries = [
        Query(id=str(n), text=one.text, language=one.language, relevant=frozenset(tools[t].name for t in one.tools))
        for n, one in enumerate(asked)
    ]
    names = {id: tool.name for id, tool in tools.items()}
    return BenchSet(name=name, tools=tuple(tools.values()), queries=tuple(queries), names=names)
