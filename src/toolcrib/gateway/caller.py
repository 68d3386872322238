"""Whose call it is: a name by which policy and rates know them, and the request by which they can be spoken to."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib.gateway.confirmation import can_be_asked

Context: TypeAlias = ServerRequestContext[Any, Any]

LOCAL = "local"  # the caller on stdio, where there is only one


@dataclass(frozen=True, slots=True)
class CallerContext:
    """Whose call it is; what a tool is given as its context."""

    name: str
    request: Context

    @classmethod
    def of(cls, request: Context) -> "CallerContext":
        """Who sent this request: over HTTP whoever has the token that came with it."""
        token = get_access_token()
        return cls(token.client_id if token else LOCAL, request)

    @property
    def is_modern(self) -> bool:
        """Whether it is spoken to in the newer protocol, which knows no sessions and no questions in between."""
        return self.request.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def can_be_asked(self) -> bool:
        """Whether the client can show a question to its user."""
        return can_be_asked(self.request.session.client_capabilities)

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the upstream is, if it asked to hear of it."""
        await self.request.session.report_progress(progress, total, message)
