"""WHAT a tool is. Values only: nothing here knows a catalog, a search or a model."""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.tools.context import (
        CurrentCall as CurrentCall,
        ToolContext as ToolContext,
        current_call as current_call,
    )
    from toolcrib.tools.registry import Entry as Entry, Registry as Registry, registry_tool as registry_tool
    from toolcrib.tools.result import ToolResult as ToolResult
    from toolcrib.tools.tool import (
        Entity as Entity,
        Extraction as Extraction,
        Protocol as Protocol,
        Risk as Risk,
        Tool as Tool,
        ToolCall as ToolCall,
    )

_HOMES = {
    "CurrentCall": "toolcrib.tools.context",
    "Entry": "toolcrib.tools.registry",
    "Entity": "toolcrib.tools.tool",
    "Extraction": "toolcrib.tools.tool",
    "Protocol": "toolcrib.tools.tool",
    "Registry": "toolcrib.tools.registry",
    "Risk": "toolcrib.tools.tool",
    "Tool": "toolcrib.tools.tool",
    "ToolCall": "toolcrib.tools.tool",
    "ToolContext": "toolcrib.tools.context",
    "ToolResult": "toolcrib.tools.result",
    "registry_tool": "toolcrib.tools.registry",
    "current_call": "toolcrib.tools.context",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
