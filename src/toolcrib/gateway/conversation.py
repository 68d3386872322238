"""One call of a client, from its first request to its answer, and what the upstream asks the client in between.

In the older protocol a question goes out while the call waits. In the newer one nothing may: the call is parked, its
request is answered with the question, and a second request brings the reply (`parked.py`).
"""

import asyncio
from dataclasses import dataclass, field
from typing import TypeGuard

import mcp_types
from mcp import MCPError
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import ServerMessageMetadata

from toolcrib.gateway.caller import CallerContext
from toolcrib.gateway.confirmation import SECONDS, can_be_asked
from toolcrib.sources.mcp_questions import Question, Reply
from toolcrib.tools.cleaning import clean

NO_USER = "The client of this call cannot ask its user."
NO_PAGE = "The client of this call cannot send its user to a page."
NO_MODEL = "The client of this call lends its model to no server."
NO_REPLY = "The client did not answer."
_MOST_MESSAGE_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that waits for its reply."""

    question: Question
    reply: "asyncio.Future[Reply]"

    def takes(self, reply: object) -> TypeGuard[Reply]:
        """Whether this answers the question that was asked."""
        if isinstance(self.question, mcp_types.ElicitRequest):
            return isinstance(reply, mcp_types.ElicitResult)
        return isinstance(reply, mcp_types.CreateMessageResult | mcp_types.CreateMessageResultWithTools)


@dataclass(slots=True)
class Conversation:
    """What a tool is given as its context."""

    caller: CallerContext
    asked: "asyncio.Queue[Asked]" = field(default_factory=lambda: asyncio.Queue[Asked]())

    @property
    def name(self) -> str:
        """The caller's."""
        return self.caller.name

    @property
    def person(self) -> object:
        """Who would be asked."""
        return self.caller.name, self.caller.session_key

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the upstream is, if it asked to hear of it."""
        await self.caller.request.session.report_progress(progress, total, message)

    async def answer(self, server: str, question: Question) -> Reply | mcp_types.ErrorData:
        """Put an upstream's question to the client. Whoever reads it is told which server asks."""
        refused = _refusal(question, self.caller.request.session.client_capabilities)
        if refused:
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=refused)
        named = _named(server, question)
        try:
            async with asyncio.timeout(SECONDS):
                return await (self._by_next_request(named) if self.caller.is_modern else self._in_session(named))
        except MCPError as error:
            return error.error
        except (TimeoutError, NoBackChannelError):
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=NO_REPLY)

    async def _by_next_request(self, question: Question) -> Reply:
        asked = Asked(question, asyncio.get_running_loop().create_future())
        self.asked.put_nowait(asked)
        return await asked.reply

    async def _in_session(self, question: Question) -> Reply:
        request = self.caller.request
        beside = ServerMessageMetadata(related_request_id=request.request_id)
        kind = (
            mcp_types.ElicitResult if isinstance(question, mcp_types.ElicitRequest) else mcp_types.CreateMessageResult
        )
        return await request.session.send_request(question, kind, metadata=beside)


def _refusal(question: Question, capabilities: mcp_types.ClientCapabilities | None) -> str:
    """Why a client cannot be asked this; nothing if it can."""
    if isinstance(question, mcp_types.CreateMessageRequest):
        able = capabilities is not None and capabilities.sampling is not None
        return "" if able and not question.params.tools else NO_MODEL
    if isinstance(question.params, mcp_types.ElicitRequestFormParams):
        return "" if can_be_asked(capabilities) else NO_USER
    elicitation = capabilities.elicitation if capabilities else None
    return "" if elicitation is not None and elicitation.url is not None else NO_PAGE


def _named(server: str, question: Question) -> Question:
    """The question with the name of the server before it. A model is asked as the server wants to ask it."""
    if isinstance(question, mcp_types.CreateMessageRequest):
        return question
    message = f"{server} asks: {clean(question.params.message, _MOST_MESSAGE_CHARACTERS)}"
    return mcp_types.ElicitRequest(params=question.params.model_copy(update={"message": message}))
