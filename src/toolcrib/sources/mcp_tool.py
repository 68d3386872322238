"""A tool of an MCP server as one of ours: its words cleaned, its risk never believed lower than its name tells."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import mcp_types

from toolcrib.errors import SourceError
from toolcrib.sources.mcp_connection import McpConnection
from toolcrib.sources.mcp_result import result_of
from toolcrib.sources.source import ReportsProgress
from toolcrib.tools.cleaning import clean, clean_words
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Risk, Tool

MOST_DESCRIPTION_CHARACTERS = 2_000
# First words of names that end something for good. Many servers say nothing of risk, and some would say anything.
_DESTRUCTIVE = frozenset(
    [
        "delete",
        "remove",
        "drop",
        "destroy",
        "erase",
        "purge",
        "wipe",
        "truncate",
        "uninstall",
        "terminate",
        "kill",
        "revoke",
    ]
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class McpToolCall:
    """Calls one tool of an MCP server. `definition` is what the server said of it, as it said it."""

    name: str  # ours
    definition: mcp_types.Tool
    connection: McpConnection = field(compare=False, repr=False)

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        """The server's answer; whatever keeps it from answering is a failed result that says what happened."""
        progress = context.report_progress if isinstance(context, ReportsProgress) else None
        try:
            answer = await self.connection.call(
                self.definition.name, arguments, repeatable=self._is_repeatable, progress=progress, context=context
            )
        except SourceError as error:
            return ToolResult.failure(" ".join(filter(None, (str(error), error.hint))))
        return result_of(self.name, answer)

    @property
    def _is_repeatable(self) -> bool:
        # The server's own word is enough here: it is the one that would do the work twice.
        hints = self.definition.annotations
        return hints is not None and (hints.read_only_hint is True or hints.idempotent_hint is True)


def tool_of(definition: mcp_types.Tool, name: str, connection: McpConnection) -> Tool:
    """The tool of a definition, under our name. Raises `ToolDefinitionError` for a schema that no model can be sent."""
    server = connection.server.name
    hints = definition.annotations
    title = definition.title or (hints.title if hints else None) or ""
    return Tool(
        name=name,
        description=clean(definition.description or title, MOST_DESCRIPTION_CHARACTERS),
        parameters=clean_words({"type": "object", **definition.input_schema}),
        call=McpToolCall(name, definition, connection),
        category=clean(server, 60),
        risk=risk_of(definition),
        source=f"mcp:{server}",
        origin=connection.server.origin,
    )


def risk_of(definition: mcp_types.Tool) -> Risk:
    """How much harm the tool may do. A hint can raise what its name tells, and never lower it.

    A tool that calls itself read-only is safe; whether that is believed is for the policy, by source.
    """
    hints = definition.annotations or mcp_types.ToolAnnotations()
    words = _WORD.findall(definition.name)
    if words and words[0].casefold() in _DESTRUCTIVE:
        return Risk.DESTRUCTIVE
    if hints.read_only_hint is True:
        return Risk.SAFE
    return Risk.DESTRUCTIVE if hints.destructive_hint is True else Risk.MODERATE
