"""Calls that wait for the user's yes: asked in one turn, answered in a later one, never by the model.

A question is kept in the session, bound to one tool with exactly these arguments, used once, and gone after an hour.
There are two ways to answer it. A door shows a button and calls `runner.confirm`. Or the user answers in words, and the
model calls again with `confirmed: true`: that counts only for a question of the turn before, and only when what the
user said since is neither a no nor a question back.
"""

import re
import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from toolcrib.agent.events import ConfirmationRequired
from toolcrib.agent.history import user_texts
from toolcrib.discovery.confirmation import Approval, PendingApproval
from toolcrib.stores.record import Confirmation
from toolcrib.stores.session import CONFIRMATION_EXPIRES_IN, Session
from toolcrib.tools.result import ToolResult, as_json

# What a user's words say to an open question: no, a question back, or something a model may read as yes.

# What stands in a conversation for the press of a button. For the model: doors go by the event's `approved`.
BUTTON_YES = "Yes, go ahead with {tool}."
BUTTON_NO = "No, do not call {tool}."
_PRESSED = re.compile(r"(?:Yes, go ahead with|No, do not call) [\w-]+\.", re.ASCII)


class Reply(StrEnum):
    """How a message answers."""

    NO = "no"
    QUESTION = "question"  # neither yes nor no: they want to know more
    OTHER = "other"


# A message that begins with one of these is a no.
_NO = frozenset({
    # English, Germanic
    "no", "nope", "nah", "never", "don't", "dont", "stop", "cancel", "abort", "nein", "nicht", "abbrechen",
    "nee", "niet", "annuleer", "nej", "nei", "ikke", "stopp", "avbryt",
    # Romance
    "non", "não", "nao", "nunca", "jamás", "cancela", "cancelar", "annulla", "annule", "annuler", "nu",
    # Slavic, Baltic, Finnic, Hungarian, Greek
    "nie", "ne", "anuluj", "przestań", "zrušit", "storno", "нет", "не", "ні", "нельзя", "стоп", "отмена",
    "отмени", "скасуй", "ei", "nem", "peru", "όχι", "οχι",
    # Turkish, Arabic, Persian, Hebrew, Indic
    "hayır", "hayir", "yok", "iptal", "لا", "كلا", "نه", "לא", "ביטול", "नहीं", "नही", "मत", "না",
    # South-East Asia, East Africa
    "không", "đừng", "tidak", "jangan", "bukan", "hindi", "huwag", "hapana",
})  # fmt: skip
# And these anywhere in a short one.
_NO_WITHIN = frozenset({
    "don't", "dont", "do-not", "never-mind", "nicht", "cancel", "stop", "abort", "abbrechen", "annuler", "anuluj",
    "отмена", "jangan",
})  # fmt: skip
_SHORT_WORDS = 8
_STILL_YES = ("no problem", "no worries", "kein problem", "nie ma problemu", "pas de problème", "sin problema")
# Scripts that put no spaces between words: how a no begins.
_NO_BEGINNINGS = (
    "不", "别", "別", "取消", "停", "算了", "いいえ", "いや", "だめ", "ダメ", "やめ", "しない", "キャンセル", "中止",
    "아니", "안돼", "안 돼", "하지 마", "하지마", "취소", "그만", "ไม่", "อย่า", "ยกเลิก",
)  # fmt: skip
_QUESTION_ENDS = ("?", "？", "؟", "¿")


def is_pressed(text: str) -> bool:
    """Whether a message stands for a button, and is in no language of the user's."""
    return _PRESSED.fullmatch(text.strip()) is not None


def reply(text: str) -> Reply:
    """How a user's message answers an open question."""
    said = " ".join(text.casefold().split())
    if said.startswith(_NO_BEGINNINGS):
        return Reply.NO
    words = [word for word in map(_letters, said.split()) if word]
    if words and not said.startswith(_STILL_YES):
        if words[0] in _NO:
            return Reply.NO
        joined = set(words) | {f"{one}-{two}" for one, two in pairwise(words)}
        if len(words) <= _SHORT_WORDS and joined & _NO_WITHIN:
            return Reply.NO
    return Reply.QUESTION if said.endswith(_QUESTION_ENDS) else Reply.OTHER


def _letters(word: str) -> str:
    """A word without what stands around it. Marks belong to it: Hindi writes its vowels with them."""
    kept = (one for one in word.replace("’", "'") if one == "'" or unicodedata.category(one)[0] in "LM")
    return "".join(kept).strip("'")


_MOST_ARGUMENT_CHARACTERS = 2_000


class Confirmations:
    """The questions of one session during one turn; a `Confirmer` for the toolset."""

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
        self._answerable: frozenset[str] = frozenset()  # by the words of this turn
        self._declined: frozenset[str] = frozenset()  # digests of calls the user has said no to in this turn

    async def hear(self, text: str) -> tuple[Confirmation, ...]:
        """The user said something: which questions may be taken as answered by it; those it declines are given."""
        last = self._questions_of_last_turn()
        said = reply(text)
        if said is Reply.NO:
            for one in last:
                await self.decline(one)
            return last
        if said is Reply.OTHER and self._in_words:
            self._answerable = frozenset(one.id for one in last)
        return ()

    async def decline(self, confirmation: Confirmation) -> None:
        """The user said no by a button: the question is gone, and the same call is not asked about again."""
        await self._session.decline_confirmation(confirmation.id)
        self._declined |= {confirmation.digest}

    async def grant(self, confirmation: Confirmation) -> None:
        """The user agreed by a button: the call that follows may take this one."""
        self._answerable = frozenset({confirmation.id})

    async def __call__(self, pending: PendingApproval, confirmed: bool, /) -> Approval | ToolResult:
        """The user's yes to this call, or what the model hears instead."""
        open_questions = self._session.confirmations
        same = [one for one in open_questions if one.digest == pending.digest]
        if confirmed:
            for one in same:
                if one.id in self._answerable:
                    taken = await self._session.take_confirmation(one.id, pending.digest)
                    if isinstance(taken, Confirmation):
                        return pending.approve()
        if pending.digest in self._declined:
            return declined(pending.tool)
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
            )
        )
        changed = confirmed and any(one.tool == pending.tool and one.id in self._answerable for one in open_questions)
        return confirmation_request(pending, changed=changed)

    async def _ask(self, pending: PendingApproval) -> Confirmation:
        return await self._session.add_confirmation(
            pending.tool, pending.arguments, pending.digest, expires_in=self._expires_in
        )

    def _questions_of_last_turn(self) -> tuple[Confirmation, ...]:
        """Those asked since the user last said something other than a question back."""
        since = next((at for at, text in user_texts(self._session.history) if reply(text) is not Reply.QUESTION), "")
        try:
            moment = datetime.fromisoformat(since)
        except ValueError:
            return self._session.confirmations
        return tuple(one for one in self._session.confirmations if one.created_at >= moment)


def confirmation_request(pending: PendingApproval, *, changed: bool = False) -> ToolResult:
    """Nothing has happened, and what would."""
    said = as_json(pending.arguments)
    if len(said) > _MOST_ARGUMENT_CHARACTERS:
        said = f"{said[:_MOST_ARGUMENT_CHARACTERS]}... (shortened)"
    because = f", because {pending.reason}" if pending.reason else ""
    other = " They agreed to other arguments." if changed else ""
    return ToolResult(
        text=f"requires_confirmation: {pending.tool} was not called. The user has to agree first{because}.{other}\n"
        f"It would be called with {said}\n"
        "Tell the user what would happen, ask them, and end your turn.",
        value=pending,
    )


def not_confirmed(tool: str) -> ToolResult:
    """The model says that the user agreed, and they have not yet."""
    return ToolResult.failure(f"{tool} was not called: the user has not agreed yet, and you cannot for them. Ask them.")


def declined(tool: str) -> ToolResult:
    """The user said no."""
    return ToolResult.failure(f"{tool} was not called: the user declined. Do not call it again; go on without it.")
