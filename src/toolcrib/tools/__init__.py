"""WHAT a tool is. Values only: nothing here knows a catalog, a search or a model."""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.tools.context import ToolContext as ToolContext
    from toolcrib.tools.extraction import Entity as Entity, Extraction as Extraction
    from toolcrib.tools.protocol import Protocol as Protocol
    from toolcrib.tools.registry import Entry as Entry, Registry as Registry, registry_tool as registry_tool
    from toolcrib.tools.result import ToolResult as ToolResult
    from toolcrib.tools.tool import (
        CurrentCall as CurrentCall,
        Risk as Risk,
        Tool as Tool,
        ToolCall as ToolCall,
        current_call as current_call,
    )

_HOMES = {
    "CurrentCall": "toolcrib.tools.tool",
    "Entry": "toolcrib.tools.registry",
    "Entity": "toolcrib.tools.extraction",
    "Extraction": "toolcrib.tools.extraction",
    "Protocol": "toolcrib.tools.protocol",
    "Registry": "toolcrib.tools.registry",
    "Risk": "toolcrib.tools.tool",
    "Tool": "toolcrib.tools.tool",
    "ToolCall": "toolcrib.tools.tool",
    "ToolContext": "toolcrib.tools.context",
    "ToolResult": "toolcrib.tools.result",
    "registry_tool": "toolcrib.tools.registry",
    "current_call": "toolcrib.tools.tool",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
