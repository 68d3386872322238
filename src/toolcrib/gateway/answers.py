"""What a client is told in MCP's own types: the definition of a tool, the words of an answer, a refusal."""

from collections.abc import Mapping
from typing import Any

import mcp_types

from toolcrib.discovery.approval import PendingApproval
from toolcrib.tools.tool import Risk, Tool


def text_answer(text: str, *, failed: bool = False) -> mcp_types.CallToolResult:
    """An answer of words alone."""
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=text)], is_error=failed)


def refusal(text: str, pending: PendingApproval) -> mcp_types.CallToolResult:
    """Why a call that needs a yes was not made."""
    return text_answer(text.format(tool=pending.tool), failed=True)


def surface_definition(tool: Tool, schema: Mapping[str, Any], *, runs: bool) -> mcp_types.Tool:
    """A tool of the surface; one that runs others may do whatever they do."""
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(schema),
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=not runs, destructive_hint=runs, idempotent_hint=not runs, open_world_hint=runs
        ),
    )


def found_definition(tool: Tool, risk: Risk) -> mcp_types.Tool:
    """A found tool as one of the client's own list.

    What its server promises of the output is left out: a client would refuse an answer that was cut because it is long.
    """
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.parameters),
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=risk is Risk.SAFE, destructive_hint=risk is Risk.DESTRUCTIVE
        ),
    )
