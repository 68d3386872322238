"""What went wrong with an MCP server, in our own words: short, true, and without what an error may carry along.

The texts of errors hold addresses with keys in them, and whatever the server liked to say. What a model or a log reads
of a failure is written here; only a server's own refusal of a call is passed on, cleaned.
"""

from dataclasses import dataclass

import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_REQUEST

from toolcrib.errors import SourceError, SourceLoginError
from toolcrib.sources.mcp_server import McpServer
from toolcrib.tools.cleaning import clean

LOGIN_STATUSES = (401, 403)
_PASSING_STATUSES = (429, 502, 503, 504)  # a moment later the same request may succeed
_MOST_REFUSAL_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Lost:
    """A call that got no answer because the connection went."""

    reason: str  # reads on after the server's name
    never_ran: bool = False  # the server surely did nothing
    still_connected: bool = False


def not_started(server: McpServer, error: BaseException, status: int | None, seconds: float) -> SourceError:
    """Why a server could not be started, or not be reached."""
    name, cause = server.name, error.__cause__ or error
    if status in LOGIN_STATUSES:
        return needs_login(server)
    if isinstance(error, TimeoutError):
        return SourceError(f"{name} did not start within {seconds:g} seconds.")
    if isinstance(cause, FileNotFoundError):
        return SourceError(f"{name} cannot be started: there is no program {server.address!r}.", hint="Install it.")
    if isinstance(cause, OSError):
        return SourceError(f"{name} cannot be started: {cause.strerror or type(cause).__name__}.")
    if status is not None:
        return SourceError(f"{name} answered with status {status}.")
    if isinstance(cause, httpx2.HTTPError):
        return SourceError(f"{name} cannot be reached at {server.address}.")
    if isinstance(cause, MCPError) and cause.code == CONNECTION_CLOSED:
        return SourceError(f"{name} ended while it was starting.")
    return SourceError(f"{name} does not speak MCP as we know it ({type(cause).__name__}).")


def needs_login(server: McpServer) -> SourceLoginError:
    """A server that does not know who we are."""
    if server.missing:
        return SourceLoginError(
            f"{server.name} needs {' and '.join(server.missing)}, which is not set.",
            hint=f"Set {server.missing[0]} in the environment.",
        )
    hint = f"Ask the user to run `toolcrib sources login {server.name}`, or to put a token into its configuration."
    return SourceLoginError(f"{server.name} wants a login.", hint=hint)


def lost(error: Exception, status: int | None, *, cut: bool) -> Lost | None:
    """How a call was lost; None if the server refused it and all is well otherwise."""
    if not isinstance(error, MCPError):
        return Lost("the connection broke")
    if cut:
        return Lost("its answer is too large", still_connected=True)
    if error.code == CONNECTION_CLOSED:
        return Lost("it ended before it answered")
    if error.code == INVALID_REQUEST and error.error.message == "Session terminated":
        return Lost("it forgot our session", never_ran=True)
    if error.code == INTERNAL_ERROR and status is not None:
        return Lost(f"it answered with status {status}", never_ran=status in _PASSING_STATUSES, still_connected=True)
    return None


def refused(server: McpServer, error: MCPError) -> SourceError:
    """What a server said against a call."""
    said = clean(error.error.message, _MOST_REFUSAL_CHARACTERS) or f"error {error.code}"
    return SourceError(f"{server.name} refused the call: {said}")
