"""Who calls: a name by which policy and rates know them, and the request by which they can be spoken to."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib.gateway.confirmation import can_be_asked

Context: TypeAlias = ServerRequestContext[Any, Any]

LOCAL = "local"  # the caller on stdio, where there is only one


@dataclass(frozen=True, slots=True)
class CallerContext:
    """Whose request it is."""

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

    @property
    def session_key(self) -> object:
        """What the requests of one session have in common; nothing in the newer protocol, which has none."""
        return None if self.is_modern else self.connection

    @property
    def connection(self) -> Connection:
        """The SDK's own, which it keeps from handlers: there is no other place for what belongs to a session."""
        return self.request.session._connection  # pyright: ignore[reportPrivateUsage]
