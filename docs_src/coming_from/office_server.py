"""Three MCP servers for the console beside this file: `python office_server.py sales --serve` speaks MCP over stdio."""

import sys

from fastmcp import FastMCP
from fastmcp.tools import Tool

VERBS = ["create", "find", "show", "list", "rename", "move"]
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

            def work(name: str, done: str = f"{verb}: {thing}") -> str:
                return f"{done} {name}"

            described = f"{verb.capitalize()} one {thing} of the company, by its name."
            server.add_tool(Tool.from_function(work, name=f"{verb}_{thing}", description=described))
    server.run(show_banner=False)


if "--serve" in sys.argv:
    serve(sys.argv[1])
