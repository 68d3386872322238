"""The 45 tools to look at: their words and schemas without the database, pictures and web behind them.

`make docs` writes `tool_definitions.json` from the real tools. Searching and counting tokens need no more, so both work
after a bare `pip install toolcrib`; calling a tool needs the extra `demo`.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from toolcrib import Catalog, Protocol, Tool, ToolResult

FILE = Path(__file__).with_name("tool_definitions.json")


def read_definitions() -> Catalog:
    """A catalog of all tools, none of which runs."""
    entries: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return Catalog(_tool(**entry) for entry in entries)


def write_definitions(catalog: Catalog) -> str:
    """The text of `tool_definitions.json` for these tools."""
    entries = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "category": tool.category,
            "phrases": tool.phrases,
            "related": tool.related,
            "risk": tool.risk,
            "confirm": tool.confirm,
            "protocol": asdict(tool.protocol) if tool.protocol else None,
        }
        for tool in catalog
    ]
    return json.dumps(entries, ensure_ascii=False, indent=1) + "\n"


def _tool(protocol: dict[str, str] | None, **fields: Any) -> Tool:
    return Tool(**fields, call=_cannot_run, protocol=Protocol(**protocol) if protocol else None)


async def _cannot_run(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult.failure("This catalog only describes its tools. Use `toolcrib_cms:catalog` to call them.")
