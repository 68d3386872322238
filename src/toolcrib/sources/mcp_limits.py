"""How long and how much one MCP server may take."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLimits:
    """What one server may cost, so that it cannot cost the others anything."""

    connect_seconds: float = 30.0  # a first start may have to download the program
    list_seconds: float = 15.0
    call_seconds: float = 50.0  # below the toolbox's own limit: what is said here says more
    poll_seconds: float = 60.0  # between two looks at the list of tools
    message_bytes: int = 16 << 20
    first_pause_seconds: float = 0.5  # before a server that ended is started again; doubles
    longest_pause_seconds: float = 60.0
    patience_seconds: float = 2.0  # a call waits for a pause as short as this; else it fails at once
    failures_allowed: int = 5  # calls in a row without an answer, until the server is left alone
    rest_seconds: float = 60.0  # for that long
