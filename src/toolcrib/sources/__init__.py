"""WHERE tools come from: MCP servers, OpenAPI documents, other agents, modules, folders of documents and skills.

Also the guard for outgoing web requests.

A source keeps its tools in a catalog up to date and runs their calls. It can only add, replace and remove tools
(`source.ToolSink`); it knows no search, no model and no policy. A source that does not work reports a state and a
problem; it never raises in another source's call.
"""

from typing import TYPE_CHECKING

from toolcrib._lazy import lazy_names

if TYPE_CHECKING:
    from toolcrib.sources.a2a import A2aSource as A2aSource
    from toolcrib.sources.agents import agent_tool as agent_tool
    from toolcrib.sources.documents import Documents as Documents
    from toolcrib.sources.mcp.config import (
        McpServer as McpServer,
        read_mcp_server as read_mcp_server,
        read_mcp_servers as read_mcp_servers,
    )
    from toolcrib.sources.mcp.login import saved_login as saved_login
    from toolcrib.sources.mcp.source import McpSource as McpSource
    from toolcrib.sources.modules.registry import module as module
    from toolcrib.sources.openapi.source import OpenApiSource as OpenApiSource
    from toolcrib.sources.skills import Skills as Skills
    from toolcrib.sources.source import (
        Source as Source,
        SourceGroup as SourceGroup,
        SourceState as SourceState,
        SourceTools as SourceTools,
    )
    from toolcrib.sources.web import (
        Web as Web,
        WebGuard as WebGuard,
        WebLimits as WebLimits,
        WebResponse as WebResponse,
    )

_HOMES = {
    "A2aSource": "toolcrib.sources.a2a",
    "Documents": "toolcrib.sources.documents",
    "McpServer": "toolcrib.sources.mcp.config",
    "McpSource": "toolcrib.sources.mcp.source",
    "OpenApiSource": "toolcrib.sources.openapi.source",
    "Skills": "toolcrib.sources.skills",
    "Source": "toolcrib.sources.source",
    "SourceGroup": "toolcrib.sources.source",
    "SourceState": "toolcrib.sources.source",
    "SourceTools": "toolcrib.sources.source",
    "Web": "toolcrib.sources.web",
    "WebGuard": "toolcrib.sources.web",
    "WebLimits": "toolcrib.sources.web",
    "WebResponse": "toolcrib.sources.web",
    "agent_tool": "toolcrib.sources.agents",
    "module": "toolcrib.sources.modules.registry",
    "read_mcp_server": "toolcrib.sources.mcp.config",
    "read_mcp_servers": "toolcrib.sources.mcp.config",
    "saved_login": "toolcrib.sources.mcp.login",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES, extra="gateway")
