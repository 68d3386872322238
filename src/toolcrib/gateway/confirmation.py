"""Asks the user to confirm a call of a risky tool. A model can never do that for them.

If the client supports elicitation, the user gets a form, and only the answer to that form counts. Otherwise the call is
refused, and waits for `toolcrib gateway confirm` in a terminal (`pending.py`). A question is valid for one caller, the
tool as it is defined now and exactly these arguments, can be answered once, and expires. Arguments are shown whole or
the call is refused: what is cut off could be what matters.

Only with `let_models_confirm` does the result hold a code with which the same call runs: then the model can send it
without having asked anybody.
"""

import asyncio
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import mcp_types
from mcp import MCPError
from mcp.shared.exceptions import NoBackChannelError

from toolcrib.discovery.confirmation import PendingApproval
from toolcrib.errors import GatewayError
from toolcrib.gateway.clients import CallerContext
from toolcrib.gateway.limits import ANSWER_SECONDS, DEFAULT_LIMITS, GatewayLimits
from toolcrib.gateway.pending import WaitingCalls
from toolcrib.gateway.surface import refusal, text_result
from toolcrib.sources.source import Clock
from toolcrib.tools.text import exact_json

logger = logging.getLogger(__name__)

KEY = "confirm"  # of the question, and of the only field in its form
CODE_ARGUMENT = "confirmed"
_MOST_OPEN = 1_000
_CODE_PREFIX = "yes-"

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {KEY: {"type": "boolean", "title": "Allow this call", "default": False}},
    "required": [KEY],
}
DECLINED = "The user did not agree, so {tool} was not called. Do not try again; ask them what to do instead."
TOO_OLD = "{tool} was not called: the question to the user is too old, or was answered before. Call it again."
NOT_ASKED = "{tool} was not called: the user could not be asked. Tell them that it needs their confirmation."
TOO_LONG = (
    "{{tool}} was not called: the user has to agree to its arguments, and {length:,} characters are more than {where} "
    "shows whole ({most:,}). Do it in smaller steps, or tell the user."
)
TOO_MANY = "{tool} was not called: too many calls wait for the user's yes. Let them run `toolcrib gateway confirm`."
CALL_UNCHANGED = " Then call it again, unchanged."
ASK_IN_TERMINAL = (
    "You cannot confirm it, and this client cannot ask its user. Tell them what would happen.\n"
    f"They can allow it with `toolcrib gateway confirm` in a terminal.{CALL_UNCHANGED}"
)
ASK_ELSEWHERE = (
    "You cannot confirm it, and this client cannot ask its user. Tell them what would happen,\n"
    "and that it needs a client that can ask (MCP elicitation)."
)
CODE_DESCRIPTION = "Only after the user agreed: the code that the first call returned"


@dataclass(frozen=True, slots=True)
class _Question:
    caller: str
    binding: str
    asked_at: float


class PendingConfirmations:
    """The confirmations that wait for an answer by form or code."""

    def __init__(self, *, clock: Clock = time.monotonic, seconds: float = ANSWER_SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._open: OrderedDict[str, _Question] = OrderedDict()

    def ask(self, binding: str, caller: str) -> str:
        """Open a question about this call; gives the code that its answer must carry. The code cannot be guessed."""
        code = f"{_CODE_PREFIX}{secrets.token_hex(16)}"
        self._open[code] = _Question(caller, binding, self._clock())
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return code

    def take(self, code: str, binding: str, caller: str) -> bool:
        """Whether the code belongs to a question about this call and this caller. A code can be taken once."""
        question = self._open.pop(code, None)
        return (
            question is not None
            and question.caller == caller
            and question.binding == binding
            and self._clock() - question.asked_at <= self._seconds
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmations:
    """How users of this gateway are asked."""

    forms: PendingConfirmations = field(default_factory=PendingConfirmations)
    terminal: WaitingCalls | None = None  # without it, only clients with elicitation can confirm
    let_models_confirm: bool = False
    limits: GatewayLimits = DEFAULT_LIMITS


def question(pending: PendingApproval) -> str:
    """The text that the user reads: all arguments, and what cannot be seen written out."""
    reason = f" You are asked because {pending.reason}." if pending.reason else ""
    asked = f"Allow {pending.tool} to run with these arguments?{reason}\n{exact_json(pending.arguments)}"
    return asked if pending.pause is None else f"{asked}\nA program calls it and waits there:\n{pending.pause.listing}"


def input_required(pending: PendingApproval, state: str) -> mcp_types.InputRequiredResult:
    """The question in the newer protocol: the client asks its user and sends the call again with the answer."""
    form = mcp_types.ElicitRequestFormParams(message=question(pending), requested_schema=FORM)
    return mcp_types.InputRequiredResult(
        input_requests={KEY: mcp_types.ElicitRequest(params=form)}, request_state=state
    )


def is_confirmed(answer: object) -> bool:
    """Whether the user agreed. Submitting the form is not enough: its field must be true."""
    if not isinstance(answer, mcp_types.ElicitResult) or answer.action != "accept":
        return False
    return (answer.content or {}).get(KEY) is True


def code_text(pending: PendingApproval, code: str) -> str:
    """The text that the model reads if models may confirm."""
    return (
        f"{pending.as_result().text}\n"
        f'Then add "{CODE_ARGUMENT}": "{code}" beside the name and the arguments. The code is valid for this call only.'
    )


def pop_code(arguments: dict[str, Any]) -> str | None:
    """Remove the code from the arguments of `call_tool` and return it. Other values of that argument stay."""
    code = arguments.get(CODE_ARGUMENT)
    if isinstance(code, str) and code.startswith(_CODE_PREFIX):
        return str(arguments.pop(CODE_ARGUMENT))
    return None


def with_code(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of `call_tool` where models may confirm."""
    code = {"type": "string", "description": CODE_DESCRIPTION}
    return {**schema, "properties": {**schema["properties"], CODE_ARGUMENT: code}}


Answer: TypeAlias = mcp_types.CallToolResult | mcp_types.InputRequiredResult


async def ask_user(
    pending: PendingApproval,
    binding: str,
    caller: CallerContext,
    params: mcp_types.CallToolRequestParams,
    code: str | None,
    ways: Confirmations,
) -> Answer | bool:
    """Ask by the means that the client supports. Gives the user's answer, otherwise what the client is told.

    `binding` stands for the tool as it is defined now, with these arguments.
    """
    forms, length = ways.forms, len(exact_json(pending.arguments))
    if not caller.can_elicit and ways.let_models_confirm:
        if code is None:
            return text_result(code_text(pending, forms.ask(binding, caller.name)))
        return forms.take(code, binding, caller.name) or refusal(TOO_OLD, pending)
    if not caller.can_elicit or length > ways.limits.form_characters:
        return await _ask_in_terminal(pending, binding, caller, ways, length)
    if not caller.is_modern:
        return await _ask_in_session(pending, caller, ways.limits.answer_seconds)
    if params.request_state is None:
        return input_required(pending, forms.ask(binding, caller.name))
    if not forms.take(params.request_state, binding, caller.name):
        return refusal(TOO_OLD, pending)
    return is_confirmed((params.input_responses or {}).get(KEY))


async def _ask_in_terminal(
    pending: PendingApproval, binding: str, caller: CallerContext, ways: Confirmations, length: int
) -> Answer | bool:
    """Take the answer that was given in a terminal; without one, let the call wait for it."""
    where, most = "a terminal", ways.limits.terminal_characters
    if caller.can_elicit and (ways.terminal is None or length > most):
        where, most = "a form", ways.limits.form_characters
    if length > most:
        return refusal(TOO_LONG.format(length=length, where=where, most=most), pending)
    if ways.terminal is None:
        return _refused(pending, ASK_ELSEWHERE)
    try:
        answer = await asyncio.to_thread(ways.terminal.take, caller=caller.name, binding=binding)
        if answer is not None:
            return answer
        waits = await asyncio.to_thread(
            ways.terminal.ask,
            caller=caller.name,
            tool=pending.tool,
            arguments=exact_json(pending.arguments, indent=2),
            reason=pending.reason,
            binding=binding,
        )
    except GatewayError as error:
        logger.warning("%s %s", error, error.hint)
        return refusal(NOT_ASKED, pending)
    return _refused(pending, ASK_IN_TERMINAL) if waits else refusal(TOO_MANY, pending)


def _refused(pending: PendingApproval, next_step: str) -> mcp_types.CallToolResult:
    if pending.pause is not None:
        next_step = next_step.removesuffix(CALL_UNCHANGED)  # the program is not run again: it goes on
    return text_result(pending.as_result(next_step=next_step).text, failed=True)


async def _ask_in_session(pending: PendingApproval, caller: CallerContext, seconds: float) -> Answer | bool:
    """In the older protocol the form is sent while the call waits."""
    try:
        async with asyncio.timeout(seconds):
            answer = await caller.request.session.elicit_form(question(pending), FORM, caller.request.request_id)
    except (TimeoutError, MCPError, NoBackChannelError):
        return refusal(NOT_ASKED, pending)
    return is_confirmed(answer)
