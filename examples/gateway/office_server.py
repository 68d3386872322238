"""Three MCP servers with 24 tools each: `python office_server.py sales --serve` speaks MCP over stdio."""

import sys
from collections.abc import Callable

from fastmcp import FastMCP
from fastmcp.tools import Tool

VERBS = ["create", "find", "show", "list", "rename", "delete"]
THINGS = {
    "sales": ["invoice", "customer", "contract", "offer"],
    "people": ["course", "holiday", "badge", "contact"],
    "files": ["folder", "document", "backup", "picture"],
}


def serve(name: str) -> None:
    """Serve what can be done with four things."""
    server: FastMCP[None] = FastMCP(name)
    for thing in THINGS[name]:
        for verb in VERBS:
            described = f"{verb.capitalize()} one {thing} of the company, by its name."
            server.add_tool(Tool.from_function(work(f"{verb} {thing}"), name=f"{verb}_{thing}", description=described))
    server.run(show_banner=False)


def work(what: str) -> Callable[[str], str]:
    """What one of the tools does."""

    def done(name: str) -> str:
        return f"{what} {name}: done"

    return done


if "--serve" in sys.argv:
    serve(sys.argv[1])
