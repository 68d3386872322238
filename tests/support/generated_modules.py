"""Twenty modules of ten tools each, of the size that real servers have: some 300 tokens a tool."""

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

MODULES = 20
VERBS = ("create", "read", "update", "delete", "search", "list", "publish", "archive", "import", "export")
PARTS = ("title", "owner", "folder", "labels", "priority", "deadline", "language", "visibility")
SAID = "What the record should have as its {part}; left out, the one of the workspace is taken as it is now."


async def call(arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
    return ToolResult(text="done")


def _factory(number: int) -> Callable[..., list[Tool]]:
    def module(*, workdir: Path) -> list[Tool]:
        properties = {part: {"type": "string", "description": SAID.format(part=part)} for part in PARTS}
        return [
            Tool(
                name=f"{verb}_module_{number}",
                description=f"{verb.title()} records of module {number} in the workspace of the signed-in user, with "
                "owner, labels and deadline.",
                parameters={
                    "type": "object",
                    "properties": properties,
                    "required": ["title"],
                    "additionalProperties": False,
                },
                call=call,
            )
            for verb in VERBS
        ]

    return module


for _number in range(MODULES):
    globals()[f"module_{_number}"] = _factory(_number)


def installed(*, group: str, name: str | None = None) -> EntryPoints:
    """The modules as an installed package would bring them."""
    points = EntryPoints(
        EntryPoint(name=f"module_{number}", value=f"{__name__}:module_{number}", group=group)
        for number in range(MODULES)
    )
    return points if name is None else points.select(name=name)
