"""Asks the user to confirm a call of a risky tool.

If the client supports elicitation, the user gets a form, and only the answer to that form counts. Otherwise the result
contains a code, and the same call with that code runs: here the gateway can only ask the model to ask the user. In both
cases a question is valid for one caller and exactly these arguments, can be answered once, and expires.
"""

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import mcp_types
from mcp import MCPError
from mcp.shared.exceptions import NoBackChannelError

from toolcrib.discovery.confirmation import PendingApproval, shorten
from toolcrib.gateway.clients import ANSWER_SECONDS, CallerContext
from toolcrib.gateway.surface import refusal, text_result
from toolcrib.sources.source import Clock
from toolcrib.tools.text import clean_json

KEY = "confirm"  # of the question, and of the only field in its form
CODE_ARGUMENT = "confirmed"
_MOST_OPEN = 1_000
_MOST_ARGUMENT_CHARACTERS = 4_000
_CODE_PREFIX = "yes-"

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {KEY: {"type": "boolean", "title": "Allow this call", "default": False}},
    "required": [KEY],
}
DECLINED = "The user did not agree, so {tool} was not called. Do not try again; ask them what to do instead."
TOO_OLD = "{tool} was not called: the question to the user is too old, or was answered before. Call it again."
NOT_ASKED = "{tool} was not called: the user could not be asked. Tell them that it needs their confirmation."
CODE_DESCRIPTION = "Only after the user agreed: the code that the first call returned"


@dataclass(frozen=True, slots=True)
class _Question:
    caller: str
    digest: str
    asked_at: float


class PendingConfirmations:
    """The confirmations that wait for an answer."""

    def __init__(self, *, clock: Clock = time.monotonic, seconds: float = ANSWER_SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._open: OrderedDict[str, _Question] = OrderedDict()

    def ask(self, pending: PendingApproval, caller: str) -> str:
        """Open a question about this call; gives the code that its answer must carry. The code cannot be guessed."""
        code = f"{_CODE_PREFIX}{secrets.token_hex(16)}"
        self._open[code] = _Question(caller, pending.digest, self._clock())
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return code

    def take(self, code: str, pending: PendingApproval, caller: str) -> bool:
        """Whether the code belongs to a question about this call and this caller. A code can be taken once."""
        question = self._open.pop(code, None)
        return (
            question is not None
            and question.caller == caller
            and question.digest == pending.digest
            and self._clock() - question.asked_at <= self._seconds
        )


def question(pending: PendingApproval) -> str:
    """The text that the user reads."""
    arguments = clean_json(pending.arguments)
    shown = shorten(arguments, _MOST_ARGUMENT_CHARACTERS, note=f"{len(arguments):,} characters in all")
    reason = f" You are asked because {pending.reason}." if pending.reason else ""
    return f"Allow {pending.tool} to run with these arguments?{reason}\n{shown}"


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
    """The text that the model reads if the client does not support elicitation."""
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
    """The schema of `call_tool` for clients that do not support elicitation."""
    code = {"type": "string", "description": CODE_DESCRIPTION}
    return {**schema, "properties": {**schema["properties"], CODE_ARGUMENT: code}}


Answer: TypeAlias = mcp_types.CallToolResult | mcp_types.InputRequiredResult


async def ask_user(
    pending: PendingApproval,
    caller: CallerContext,
    params: mcp_types.CallToolRequestParams,
    code: str | None,
    questions: PendingConfirmations,
) -> Answer | Literal[True]:
    """Ask by the means that the client supports. Gives True if the user agreed, otherwise what to answer."""
    if not caller.can_elicit:
        if code is None:
            return text_result(code_text(pending, questions.ask(pending, caller.name)))
        return questions.take(code, pending, caller.name) or refusal(TOO_OLD, pending)
    if not caller.is_modern:
        return await _ask_in_session(pending, caller)
    if params.request_state is None:
        return input_required(pending, questions.ask(pending, caller.name))
    if not questions.take(params.request_state, pending, caller.name):
        return refusal(TOO_OLD, pending)
    return is_confirmed((params.input_responses or {}).get(KEY)) or refusal(DECLINED, pending)


async def _ask_in_session(pending: PendingApproval, caller: CallerContext) -> Answer | Literal[True]:
    """In the older protocol the form is sent while the call waits."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            answer = await caller.request.session.elicit_form(question(pending), FORM, caller.request.request_id)
    except (TimeoutError, MCPError, NoBackChannelError):
        return refusal(NOT_ASKED, pending)
    return is_confirmed(answer) or refusal(DECLINED, pending)
