"""Calls of the newer protocol that wait for their client: the upstream asked something, and the reply comes anew."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

import mcp_types

from toolcrib.discovery.approval import digest
from toolcrib.gateway.answers import text_answer
from toolcrib.gateway.caller import CallerContext
from toolcrib.gateway.conversation import Asked, Conversation
from toolcrib.tools.result import ToolResult

KEY = "question"
GONE = "The question is too old, or was answered before. Call the tool again."
_PREFIX = "ask-"
_MOST = 1_000


@dataclass(slots=True)
class _Parked:
    conversation: Conversation
    call: "asyncio.Task[ToolResult]"
    asked: Asked
    digest: str


class ParkedCalls:
    """The calls that wait. Each belongs to its caller and to exactly its arguments, and is taken up once."""

    def __init__(self) -> None:
        self._parked: OrderedDict[str, _Parked] = OrderedDict()

    def __contains__(self, state: object) -> bool:
        """Whether this is the state of a call of ours, be it one that is gone."""
        return isinstance(state, str) and state.startswith(_PREFIX)

    async def begin(
        self, call: Coroutine[Any, Any, ToolResult], conversation: Conversation, params: mcp_types.CallToolRequestParams
    ) -> ToolResult | mcp_types.InputRequiredResult:
        """The result of a call, or the question that has to be answered before."""
        return await self._until_asked(asyncio.ensure_future(call), conversation, params)

    async def resume(
        self, caller: CallerContext, params: mcp_types.CallToolRequestParams
    ) -> ToolResult | mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        """The same after a reply came."""
        parked = self._parked.get(params.request_state or "")
        if parked is None or parked.conversation.name != caller.name or parked.digest != _digest(params):
            return text_answer(GONE, failed=True)
        del self._parked[params.request_state or ""]
        reply = (params.input_responses or {}).get(KEY)
        if parked.call.done() or parked.asked.reply.done() or not parked.asked.takes(reply):
            parked.call.cancel()
            return text_answer(GONE, failed=True)
        parked.conversation.caller = caller
        parked.asked.reply.set_result(reply)
        return await self._until_asked(parked.call, parked.conversation, params)

    async def end(self) -> None:
        """Nobody waits any more."""
        calls = [parked.call for parked in self._parked.values()]
        self._parked.clear()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def _until_asked(
        self, call: "asyncio.Task[ToolResult]", conversation: Conversation, params: mcp_types.CallToolRequestParams
    ) -> ToolResult | mcp_types.InputRequiredResult:
        question = asyncio.ensure_future(conversation.asked.get())
        try:
            await asyncio.wait([call, question], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            call.cancel()  # who asked has gone
            raise
        finally:
            if not question.done():
                question.cancel()
        if call.done():
            return call.result()
        return self._park(_Parked(conversation, call, question.result(), _digest(params)))

    def _park(self, parked: _Parked) -> mcp_types.InputRequiredResult:
        state = f"{_PREFIX}{secrets.token_hex(16)}"
        self._parked[state] = parked
        # Without a reply the question ends after a while, the upstream hears so, and its answer has no reader.
        parked.call.add_done_callback(lambda _: self._parked.pop(state, None))
        while len(self._parked) > _MOST:
            self._parked.popitem(last=False)[1].call.cancel()
        return mcp_types.InputRequiredResult(input_requests={KEY: parked.asked.question}, request_state=state)


def _digest(params: mcp_types.CallToolRequestParams) -> str:
    return digest(params.name, params.arguments or {})
