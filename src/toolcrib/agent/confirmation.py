"""Calls that wait for the user's confirmation: asked in one turn, answered in a later one, never by the model.

A question is stored in the session, belongs to one tool with exactly these arguments, is answered once, and expires
after an hour. There are two ways to answer it. A client shows a button and calls `runner.confirm`. Or the user answers
in words, and the model calls again with `confirmed: true`: that counts only for a question of the turn before, and only
if the user's message is neither a no nor a question.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart

from toolcrib.agent.definitions import PassThroughValidator, raw_arguments
from toolcrib.agent.events import ConfirmationRequired
from toolcrib.agent.history import AGREED, ASKED, OwnName, note_of, turns_of, user_texts
from toolcrib.discovery.arguments import Repaired, repair_arguments
from toolcrib.discovery.confirmation import (
    ASK_AND_END,
    Approval,
    PendingApproval,
    Questions,
    ReplyKind,
    classify_reply,
    digest,
    is_question,
    not_confirmed,
    without_confirmed,
)
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.stores.record import Confirmation
from toolcrib.stores.session import CONFIRMATION_EXPIRES_IN, Session
from toolcrib.tools.result import ToolResult

# The user's message when they press a button, for the model: clients read the event's `approved`.
BUTTON_YES = "Yes, go ahead with {tool}."
BUTTON_NO = "No, do not call {tool}."
BUTTON_UNDO = "I have undone what {tool} did."
_PRESSED = re.compile(r"(?:(?:Yes, go ahead with|No, do not call) [\w-]+|I have undone what [\w-]+ did)\.", re.ASCII)


def is_pressed(text: str) -> bool:
    """Whether a message stands for a button, and so does not show the user's language."""
    return _PRESSED.fullmatch(text.strip()) is not None


class Confirmations:
    """The open questions of one session during one turn; a `Confirmer` for the toolset."""

    def __init__(
        self,
        session: Session,
        *,
        emit: Callable[[ConfirmationRequired], None],
        in_words: bool = True,
        expires_in: timedelta = CONFIRMATION_EXPIRES_IN,
    ) -> None:
        self._session = session
        self._emit = emit
        self._in_words = in_words
        self._expires_in = expires_in
        self._answerable: frozenset[str] = frozenset()  # by the user's message of this turn
        self._declined: frozenset[str] = frozenset()  # digests of calls that the user declined in this turn

    async def read_reply(self, text: str) -> tuple[Confirmation, ...]:
        """Read the user's message as an answer to the questions of the last turn; returns those that it declines."""
        last = self._questions_of_last_turn()
        kind = classify_reply(text)
        if kind is ReplyKind.NO:
            for one in last:
                await self.decline(one)
            return last
        if kind is ReplyKind.OTHER and self._in_words:
            self._answerable = frozenset(one.id for one in last)
        return ()

    async def decline(self, confirmation: Confirmation) -> None:
        """Close a question that the user answered with no; the same call is not asked about again in this turn."""
        await self._session.decline_confirmation(confirmation.id)
        self._declined |= {confirmation.digest}

    async def change(self, confirmation: Confirmation, arguments: Mapping[str, Any]) -> Confirmation:
        """Close a question, and ask about the same tool with the arguments that the user wrote instead."""
        await self.decline(confirmation)
        return await self._ask(PendingApproval.of(confirmation.tool, arguments))

    def accept(self, confirmation: Confirmation) -> None:
        """Accept a question that the user answered by a button: the call that follows may take it."""
        self._answerable = frozenset({confirmation.id})

    async def __call__(self, pending: PendingApproval, confirmed: bool, /) -> Approval | ToolResult:
        """The user's approval of this call, or the result that the model gets instead."""
        open_questions = self._session.confirmations
        same = [one for one in open_questions if one.digest == pending.digest]
        if confirmed:
            for one in same:
                if one.id in self._answerable:
                    taken = await self._session.take_confirmation(one.id, pending.digest)
                    if isinstance(taken, Confirmation):
                        return pending.approve()
        if pending.digest in self._declined:
            return pending.decline()
        if confirmed and same:
            return not_confirmed(pending.tool)
        question = same[-1] if same else await self._ask(pending)
        self._emit(
            ConfirmationRequired(
                id=question.id,
                tool=question.tool,
                arguments=question.arguments,
                reason=pending.reason,
                expires_at=question.expires_at,
                program=pending.pause.listing if pending.pause is not None else "",
            )
        )
        changed = confirmed and any(one.tool == pending.tool and one.id in self._answerable for one in open_questions)
        return pending.as_result(note="They agreed to other arguments." if changed else "", next_step=ASK_AND_END)

    async def _ask(self, pending: PendingApproval) -> Confirmation:
        pause = pending.pause
        return await self._session.add_confirmation(
            pending.tool,
            pending.arguments,
            pending.digest,
            # A program says itself how long it waits: what it did so far would be lost with it.
            expires_in=self._expires_in if pause is None else max(self._expires_in, pause.expires_in),
            program=None if pause is None else pause.stored,
        )

    def _questions_of_last_turn(self) -> tuple[Confirmation, ...]:
        """The questions since the user's last message that was not itself a question."""
        texts = user_texts(self._session.history)
        since = next((at for at, text in texts if classify_reply(text) is not ReplyKind.QUESTION), "")
        try:
            moment = datetime.fromisoformat(since)
        except ValueError:
            return self._session.confirmations
        return tuple(one for one in self._session.confirmations if one.created_at >= moment)


class HistoryConfirmations:
    """The same rules for an agent that keeps no session: what was asked stands in its message history.

    A `Confirmer` for one run. Questions do not expire by the clock, but by the next turn. Only results of our own tools
    are read, by the names that `own_name` knows: neither the model nor a tool of somebody else can ask in our place.
    """

    def __init__(self, messages: Sequence[ModelMessage], toolbox: Toolbox, own_name: OwnName) -> None:
        self._toolbox = toolbox
        self._own_name = own_name
        self._calls = {
            call.tool_call_id: call for one in messages if isinstance(one, ModelResponse) for call in one.tool_calls
        }
        self._questions = Questions()
        for turn in turns_of(messages):
            self._questions.begin_turn(turn.text)
            for part in turn.results:
                self._questions.asked(self._asked_by(part))
                if isinstance(agreed := note_of(part).get(AGREED), str):
                    self._questions.take(agreed)

    def _asked_by(self, part: ToolReturnPart) -> dict[str, str]:
        """The calls that a result asked about."""
        name = self._own_name(part.tool_name)
        if name is None:
            return {}
        if isinstance(noted := note_of(part).get(ASKED), Mapping):
            return {str(digest): str(tool) for digest, tool in cast("Mapping[object, object]", noted).items()}
        call, tool = self._calls.get(part.tool_call_id), self._toolbox.find(name)
        if part.metadata is not None or call is None or tool is None or not is_question(part.content, name):
            return {}
        # A client dropped the metadata. What was asked about is what the model called.
        sent, _ = without_confirmed(raw_arguments(PassThroughValidator().validate(call.args)), tool)
        ways = [sent, given.arguments if isinstance(given := repair_arguments(tool, sent), Repaired) else None]
        return {digest(name, cast("Mapping[str, Any]", one)): name for one in ways if isinstance(one, Mapping)}

    async def __call__(self, pending: PendingApproval, confirmed: bool, /) -> Approval | ToolResult:
        """The user's approval of this call, or the result that the model gets instead."""
        return self._questions.answer(pending, confirmed=confirmed)
