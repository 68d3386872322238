"""Asks the user about one call of a risky tool, in whatever way the client has."""

import asyncio
from typing import Literal, TypeAlias

import mcp_types
from mcp import MCPError
from mcp.shared.exceptions import NoBackChannelError

from toolcrib.discovery.approval import PendingApproval
from toolcrib.gateway.answers import refusal, text_answer
from toolcrib.gateway.caller import CallerContext
from toolcrib.gateway.confirmation import (
    DECLINED,
    FORM,
    KEY,
    NOT_ASKED,
    SECONDS,
    TOO_OLD,
    Questions,
    code_text,
    input_required,
    question,
    says_yes,
)

Answer: TypeAlias = mcp_types.CallToolResult | mcp_types.InputRequiredResult


async def asked(
    pending: PendingApproval,
    caller: CallerContext,
    params: mcp_types.CallToolRequestParams,
    code: str | None,
    questions: Questions,
) -> Answer | Literal[True]:
    """The user's yes, or what to answer without it."""
    if not caller.can_be_asked:
        if code is None:
            return text_answer(code_text(pending, questions.ask(pending, caller.name)))
        return questions.take(code, pending, caller.name) or refusal(TOO_OLD, pending)
    if not caller.is_modern:
        return await _in_session(pending, caller)
    if params.request_state is None:
        return input_required(pending, questions.ask(pending, caller.name))
    if not questions.take(params.request_state, pending, caller.name):
        return refusal(TOO_OLD, pending)
    return says_yes((params.input_responses or {}).get(KEY)) or refusal(DECLINED, pending)


async def _in_session(pending: PendingApproval, caller: CallerContext) -> Answer | Literal[True]:
    """In the older protocol the question goes out while the call waits."""
    try:
        async with asyncio.timeout(SECONDS):
            answer = await caller.request.session.elicit_form(question(pending), FORM, caller.request.request_id)
    except (TimeoutError, MCPError, NoBackChannelError):
        return refusal(NOT_ASKED, pending)
    return says_yes(answer) or refusal(DECLINED, pending)
