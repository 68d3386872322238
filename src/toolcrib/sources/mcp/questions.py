"""What an MCP server asks back while it works on a call: something of the user, or a text of the client's model.

A connection serves many callers, so a question has to find the call it belongs to. In the newer protocol it comes as
the call's own answer; in the older one it comes beside the calls, and is put to somebody only if it is sure to whom.
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
Sampled: TypeAlias = mcp_types.CreateMessageResult | mcp_types.CreateMessageResultWithTools
Reply: TypeAlias = mcp_types.ElicitResult | Sampled

MOST_QUESTIONS = 10  # of one call
NOBODY = "Nobody can be asked: this call was made by a program that shows no questions."
UNCLEAR = "Nobody was asked: several calls run at once, and it is not clear which of them asks."
TOO_MANY = f"Nobody was asked: one call may ask {MOST_QUESTIONS} times."


@runtime_checkable
class AnswersQuestions(Protocol):
    """A call's context that can put a server's question to somebody."""

    @property
    def person(self) -> object:
        """Who would be asked: contexts of one and the same person have equal ones."""
        ...

    async def answer(self, server: str, question: Question) -> Reply | mcp_types.ErrorData:
        """The answer, or why there is none."""
        ...


@dataclass(slots=True, eq=False)
class _Call:
    """A call that the server works on. Its time stands still while somebody thinks about an answer."""

    context: object
    limit: asyncio.Timeout
    seconds: float
    asked: int = 0


@dataclass(slots=True)
class ServerQuestions:
    """The questions of one server."""

    server: str
    _calls: list[_Call] = field(default_factory=list[_Call])

    @contextmanager
    def during(self, context: object, limit: asyncio.Timeout, seconds: float) -> Generator[None]:
        """A call is made inside, for whoever this context stands for."""
        call = _Call(context, limit, seconds)
        self._calls.append(call)
        token = _own_call.set(call)
        try:
            yield
        finally:
            _own_call.reset(token)
            self._calls.remove(call)

    async def elicit(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        """The SDK's way to ask the user."""
        reply = await self._reply(mcp_types.ElicitRequest(params=params))
        return reply if isinstance(reply, mcp_types.ElicitResult | mcp_types.ErrorData) else _no(NOBODY)

    async def sample(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> Sampled | mcp_types.ErrorData:
        """The SDK's way to ask the client's model."""
        reply = await self._reply(mcp_types.CreateMessageRequest(params=params))
        return _no(NOBODY) if isinstance(reply, mcp_types.ElicitResult) else reply

    async def _reply(self, question: Question) -> Reply | mcp_types.ErrorData:
        call = self._asking()
        if call is None:
            return _no(UNCLEAR if self._calls else NOBODY)
        if not isinstance(call.context, AnswersQuestions):
            return _no(NOBODY)
        call.asked += 1
        if call.asked > MOST_QUESTIONS:
            return _no(TOO_MANY)
        if not call.limit.expired():
            call.limit.reschedule(None)
        try:
            return await call.context.answer(self.server, question)
        finally:
            if call in self._calls and not call.limit.expired():
                call.limit.reschedule(asyncio.get_running_loop().time() + call.seconds)

    def _asking(self) -> _Call | None:
        """The call that asks; None if that is not sure. Any call of the same person is as good as another."""
        own = _own_call.get()
        if own in self._calls:
            return own
        people = [call.context.person for call in self._calls if isinstance(call.context, AnswersQuestions)]
        alike = len(people) == len(self._calls) and all(person == people[0] for person in people)
        return self._calls[-1] if self._calls and (len(self._calls) == 1 or alike) else None


_own_call: ContextVar[_Call | None] = ContextVar("_own_call", default=None)


def _no(why: str) -> mcp_types.ErrorData:
    return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=why)
