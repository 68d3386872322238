"""The tools with requests written for this project, as catalogues like the public sets: to fit with, and to report on.

A server's tools are asked for together or not at all, so that each catalogue is one nobody trained for.
"""

from collections.abc import Mapping, Sequence

from benchmarks.data import CATALOGUE, BenchSet, Query, as_tool, load, unique_names
from toolcrib.tools.tool import Tool
from training.asked import Asked, Purpose, invented_tools, mcp_requests, purpose, server_of

WRITTEN = ("our_mcp", "our_invented")


def written_sets(wanted: Purpose) -> dict[str, BenchSet]:
    """Both sets, with what serves this purpose alone."""
    catalogue = load(CATALOGUE)
    real = {
        id: tool for id, tool in zip(catalogue.names, catalogue.tools, strict=True) if purpose(server_of(id)) == wanted
    }
    invented = {tool.name: tool for tool in invented_tools() if purpose(tool.name) == wanted}
    rows = [{"id": name, "name": name, "description": tool.description} for name, tool in invented.items()]
    names = unique_names(rows)
    made = {row["id"]: as_tool(row, names[row["id"]]) for row in rows}
    return {
        "our_mcp": _set("our_mcp", real, [one for one in mcp_requests() if one.tool in real]),
        "our_invented": _set("our_invented", made, [one for tool in invented.values() for one in tool.requests]),
    }


def _set(name: str, tools: Mapping[str, Tool], asked: Sequence[Asked]) -> BenchSet:
    queries = [
        Query(id=str(n), text=one.text, language=one.language, relevant=frozenset([tools[one.tool].name]))
        for n, one in enumerate(asked)
    ]
    names = {id: tool.name for id, tool in tools.items()}
    return BenchSet(name=name, tools=tuple(tools.values()), queries=tuple(queries), names=names)
