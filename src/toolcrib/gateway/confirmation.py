"""How the user is asked about one call of a risky tool, and how the answer finds its question.

Clients that can show a question (elicitation) get one, and only the user's answer to it counts. Where a client cannot,
the result tells a code, and the same call with that code runs: the model can only be asked to ask. Either way a
question belongs to one caller and to exactly these arguments, is answered once, and becomes too old.
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
from toolcrib.gateway.clients import SECONDS, CallerContext
from toolcrib.gateway.surface import refusal, text_answer
from toolcrib.sources.source import Clock
from toolcrib.tools.text import clean_json

KEY = "confirm"  # of the question, and of its one field
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
NOT_ASKED = "{tool} was not called: the user could not be asked. Tell them that it waits for their yes."
CODE_DESCRIPTION = "Only after the user agreed: the code that the first call gave"


@dataclass(frozen=True, slots=True)
class _Question:
    caller: str
    digest: str
    asked_at: float


class PendingConfirmations:
    """The questions that wait for an answer."""

    def __init__(self, *, clock: Clock = time.monotonic, seconds: float = SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._open: OrderedDict[str, _Question] = OrderedDict()

    def ask(self, pending: PendingApproval, caller: str) -> str:
        """A code that nobody can guess, for the answer to this question."""
        code = f"{_CODE_PREFIX}{secrets.token_hex(16)}"
        self._open[code] = _Question(caller, pending.digest, self._clock())
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return code

    def take(self, code: str, pending: PendingApproval, caller: str) -> bool:
        """Whether this answers the question about this very call, asked of this caller. It can be taken once."""
        question = self._open.pop(code, None)
        return (
            question is not None
            and question.caller == caller
            and question.digest == pending.digest
            and self._clock() - question.asked_at <= self._seconds
        )


def question(pending: PendingApproval) -> str:
    """What the user reads."""
    arguments = clean_json(pending.arguments)
    shown = shorten(arguments, _MOST_ARGUMENT_CHARACTERS, note=f"{len(arguments):,} characters in all")
    because = f" You are asked because {pending.reason}." if pending.reason else ""
    return f"Allow {pending.tool} to run with these arguments?{because}\n{shown}"


def input_required(pending: PendingApproval, state: str) -> mcp_types.InputRequiredResult:
    """The question in the newer protocol: the client asks its user, and sends the call again with the answer."""
    form = mcp_types.ElicitRequestFormParams(message=question(pending), requested_schema=FORM)
    return mcp_types.InputRequiredResult(
        input_requests={KEY: mcp_types.ElicitRequest(params=form)}, request_state=state
    )


def says_yes(answer: object) -> bool:
    """Whether the user agreed: by the form's own field, not only by closing it."""
    if not isinstance(answer, mcp_types.ElicitResult) or answer.action != "accept":
        return False
    return (answer.content or {}).get(KEY) is True


def code_text(pending: PendingApproval, code: str) -> str:
    """What a model reads where the client cannot ask its user."""
    return (
        f"{pending.as_result().text}\n"
        f'Then add "{CODE_ARGUMENT}": "{code}" beside the name and the arguments. The code is good for this call only.'
    )


def pop_code(arguments: dict[str, Any]) -> str | None:
    """The code among the arguments of `call_tool`, taken out of them; a tool's own argument of that name stays."""
    code = arguments.get(CODE_ARGUMENT)
    if isinstance(code, str) and code.startswith(_CODE_PREFIX):
        return str(arguments.pop(CODE_ARGUMENT))
    return None


def with_code(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of `call_tool` for clients that cannot ask their users."""
    code = {"type": "string", "description": CODE_DESCRIPTION}
    return {**schema, "properties": {**schema["properties"], CODE_ARGUMENT: code}}


# Asks the user about one call of a risky tool, in whatever way the client has.

Answer: TypeAlias = mcp_types.CallToolResult | mcp_types.InputRequiredResult


async def asked(
    pending: PendingApproval,
    caller: CallerContext,
    params: mcp_types.CallToolRequestParams,
    code: str | None,
    questions: PendingConfirmations,
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
