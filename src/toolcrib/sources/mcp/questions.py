"""Questions of an MCP server during a call: elicitation (for the user) and sampling (for the model of the client).

Many callers share a connection, so each question must be matched to a call. In the newer protocol it is the response
to that call. In the older one it is a separate request, which is answered only if its caller is certain.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

import mcp_types
from mcp.client.session import ClientRequestContext

Question: TypeAlias = mcp_types.ElicitRequest | mcp_types.CreateMessageRequest
SamplingReply: TypeAlias = mcp_types.CreateMessageResult | mcp_types.CreateMessageResultWithTools
Reply: TypeAlias = mcp_types.ElicitResult | SamplingReply

MOST_QUESTIONS = 10  # per call
NOBODY = "Nobody can be asked: the caller supports no questions."
UNCLEAR = "Nobody was asked: several calls are running, and it is not clear which one the question belongs to."
TOO_MANY = f"Nobody was asked: a call may ask at most {MOST_QUESTIONS} questions."


@runtime_checkable
class AnswersQuestions(Protocol):
    """A call context that can answer questions of a server."""

    @property
    def person(self) -> object:
        """Identifies who answers: contexts of the same person have equal values."""
        ...

    async def answer(self, server: str, question: Question) -> Reply | mcp_types.ErrorData:
        """The answer, or an error that says why there is none."""
        ...


@dataclass(slots=True, eq=False)
class _Call:
    """A call in progress. Its timeout is suspended while a question waits for its answer."""

    context: object
    limit: asyncio.Timeout
    seconds: float
    questions: int = 0


@dataclass(slots=True)
class ServerQuestions:
    """Answers the questions of one server through the contexts of its calls."""

    server: str
    _calls: list[_Call] = field(default_factory=list[_Call])

    @contextmanager
    def track_call(self, context: object, limit: asyncio.Timeout, seconds: float) -> Generator[None]:
        """Register the call that is made inside the `with` block, with its context and its timeout."""
        call = _Call(context, limit, seconds)
        self._calls.append(call)
        token = _current_call.set(call)
        try:
            yield
        finally:
            _current_call.reset(token)
            self._calls.remove(call)

    async def elicit(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        """The elicitation callback of the SDK."""
        reply = await self._reply(mcp_types.ElicitRequest(params=params))
        return reply if isinstance(reply, mcp_types.ElicitResult | mcp_types.ErrorData) else _error(NOBODY)

    async def sample(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> SamplingReply | mcp_types.ErrorData:
        """The sampling callback of the SDK."""
        reply = await self._reply(mcp_types.CreateMessageRequest(params=params))
        return _error(NOBODY) if isinstance(reply, mcp_types.ElicitResult) else reply

    async def _reply(self, question: Question) -> Reply | mcp_types.ErrorData:
        call = self._asking_call()
        if call is None:
            return _error(UNCLEAR if self._calls else NOBODY)
        if not isinstance(call.context, AnswersQuestions):
            return _error(NOBODY)
        call.questions += 1
        if call.questions > MOST_QUESTIONS:
            return _error(TOO_MANY)
        if not call.limit.expired():
            call.limit.reschedule(None)
        try:
            return await call.context.answer(self.server, question)
        finally:
            if call in self._calls and not call.limit.expired():
                call.limit.reschedule(asyncio.get_running_loop().time() + call.seconds)

    def _asking_call(self) -> _Call | None:
        """The call that a question belongs to; None if that is uncertain. Calls of the same person are equivalent."""
        current = _current_call.get()
        if current in self._calls:
            return current
        people = [call.context.person for call in self._calls if isinstance(call.context, AnswersQuestions)]
        same_person = len(people) == len(self._calls) and all(person == people[0] for person in people)
        return self._calls[-1] if self._calls and (len(self._calls) == 1 or same_person) else None


_current_call: ContextVar[_Call | None] = ContextVar("_current_call", default=None)


def _error(message: str) -> mcp_types.ErrorData:
    return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=message)
