"""A session with an MCP server that stands between two others: it hands on, and judges nothing."""

from fastmcp.client.transports.base import SessionKwargs
from mcp import ClientSession
from mcp_types import CallToolResult

from toolcrib.sources.mcp_questions import ServerQuestions


class RelaySession(ClientSession):
    """A session that hands results on as they are: what a server promised of its output is for the reader to judge."""

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        return


def relaying(options: SessionKwargs, questions: ServerQuestions | None) -> SessionKwargs:
    """A session's options, with somebody who takes the server's questions; else the server is told that nobody does."""
    if questions is None:
        return options
    return {**options, "elicitation_callback": questions.elicit, "sampling_callback": questions.sample}
