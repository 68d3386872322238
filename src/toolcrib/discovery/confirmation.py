"""Confirmation of a call: the user agrees to one tool with exactly these arguments, and to nothing similar.

The toolbox makes a `PendingApproval` and takes an `Approval`. How the user is asked, how long a question waits and how
the answer comes back is up to the agent, the gateway or the server. A model can make neither: no argument of a tool is
one. Here is also what models and users read about a call that waits.
"""

import hashlib
import json
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any, TypeAlias, cast

from toolcrib.discovery.arguments import properties_of
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.tool import Tool

MOST_ARGUMENT_CHARACTERS = 2_000  # in the text for the model; the pending approval itself holds all of them
CALL_AGAIN = "Tell the user what would happen. Call it again with the same arguments only after they agree."
ASK_AND_END = "Tell the user what would happen, ask them, and end your turn."
ASK = "Tell the user what would happen, and ask them."
GO_ON = "If they agree, {tool}(resume={program!r}, confirmed=true) goes on there."

_NOT_CALLED = "requires_confirmation: {tool} was not called."

# The argument by which a model says that the user agreed to a call. That alone is no proof.
CONFIRMED = "confirmed"
CONFIRMED_SCHEMA = {"type": "boolean", "description": "true once the user agreed to this very call"}


def with_confirmed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema that the model sees of a tool that asks first."""
    properties: Mapping[str, Any] = parameters["properties"]
    if CONFIRMED in properties:
        return dict(parameters)
    return {**parameters, "properties": {**properties, CONFIRMED: CONFIRMED_SCHEMA}}


def without_confirmed(arguments: object, tool: Tool | None) -> tuple[object, bool]:
    """The tool's own arguments, and whether the model says that the user agreed."""
    if not isinstance(arguments, dict):
        return arguments, False
    sent = cast("dict[str, Any]", arguments)
    if tool is not None and CONFIRMED in properties_of(tool.parameters):  # the tool has an argument of that name
        return sent, sent.get(CONFIRMED) is True
    return _stripped(sent)


def _stripped(arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Arguments without `confirmed`; models also put it one level down, in tools that call other tools."""
    kept: dict[str, Any] = {}
    confirmed = arguments.get(CONFIRMED) is True
    for key, value in arguments.items():
        if key == CONFIRMED:
            continue
        if isinstance(value, dict) and CONFIRMED in value:
            inner = dict(cast("dict[str, Any]", value))
            confirmed = confirmed or inner.pop(CONFIRMED) is True
            kept[key] = inner
        else:
            kept[key] = value
    return kept, confirmed


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The user's yes to one call; or their no, which only a program that waits for it takes."""

    tool: str
    digest: str
    granted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A program that waits for the user's answer about one of its calls."""

    program: str  # its id
    runs: str  # the tool that goes on with it
    listing: str  # the program, with the line of the call marked
    made: tuple[str, ...]  # calls it made before
    expires_in: timedelta
    stored: Mapping[str, Any]  # all of it, as it is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    """A call that waits for the user's yes."""

    tool: str
    arguments: Mapping[str, Any]
    digest: str
    reason: str = ""
    pause: Pause | None = None  # of a call that a program makes

    @classmethod
    def of(cls, tool: str, arguments: Mapping[str, Any], reason: str = "") -> "PendingApproval":
        """The approval that this call needs."""
        return cls(tool=tool, arguments=dict(arguments), digest=digest(tool, arguments), reason=reason)

    def approve(self) -> Approval:
        """The user's yes to this call. Only for code that has asked the user."""
        return Approval(tool=self.tool, digest=self.digest)

    def decline(self) -> Approval | ToolResult:
        """The user's no: what the model is told, or what a program is told that waits for it."""
        if self.pause is None:
            return declined(self.tool)
        return Approval(tool=self.tool, digest=self.digest, granted=False)

    @property
    def next_call(self) -> tuple[str, Mapping[str, Any]]:
        """What is called once there is an answer: the tool, or what goes on with the program."""
        if self.pause is None:
            return self.tool, self.arguments
        return self.pause.runs, {"resume": self.pause.program}

    def as_result(self, *, note: str = "", next_step: str = CALL_AGAIN) -> ToolResult:
        """The result for the model: the call was not made, what it would be, and what to do next."""
        because = f", because {self.reason}" if self.reason else ""
        first = f"{_NOT_CALLED.format(tool=self.tool)} The user has to agree first{because}."
        arguments = shorten(as_json(self.arguments), MOST_ARGUMENT_CHARACTERS)
        lines = [f"{first}{note and f' {note}'}", f"It would be called with {arguments}"]
        if self.pause is not None:
            made = ", ".join(self.pause.made) or "nothing"
            lines += [f"The program waits there. It called before: {shorten(made, MOST_ARGUMENT_CHARACTERS)}"]
            go_on = GO_ON.format(tool=self.pause.runs, program=self.pause.program)
            next_step = f"{ASK if next_step == CALL_AGAIN else next_step} {go_on}"
        return ToolResult(text="\n".join([*lines, next_step]), value=self)


Ask: TypeAlias = Callable[[PendingApproval], bool | Awaitable[bool]]
"""Asks the user whether a call may be made."""


def is_question(result: object, tool: str) -> bool:
    """Whether the text of a result says that a call of this tool waits for the user's yes."""
    return isinstance(result, str) and result.startswith(_NOT_CALLED.format(tool=tool))


def shorten(arguments: str, most_characters: int, note: str = "shortened") -> str:
    """Arguments as JSON, cut to so many characters; `note` says that they were."""
    if len(arguments) <= most_characters:
        return arguments
    return f"{arguments[:most_characters]}... ({note})"


def digest(tool: str, arguments: Mapping[str, Any]) -> str:
    """A fingerprint of one call: the same for the same tool and arguments, whatever the order of the keys."""
    foreign = 0

    def distinct(value: object) -> list[str]:
        nonlocal foreign
        foreign += 1
        return [type(value).__qualname__, repr(value)]

    text = json.dumps([tool, arguments], sort_keys=True, separators=(",", ":"), default=distinct)
    # The count keeps a value that JSON cannot express apart from the list that stands for it.
    return hashlib.sha256(f"{foreign} {text}".encode()).hexdigest()


# What the user says in words


class Questions:
    """The questions of one conversation, and which of them the user's last message may have answered with a yes.

    The model asks in words and calls again with `confirmed: true`. That counts for a question of the turn before, if
    the user's message since then is neither a no nor a question back; for the same arguments, and once.
    """

    def __init__(self) -> None:
        self._kind = ReplyKind.OTHER  # of the user's last message
        self._before: dict[str, str] = {}  # tools by digest: asked when the user wrote it
        self._since: dict[str, str] = {}  # asked in this turn
        self._answerable: set[str] = set()
        self._declined: set[str] = set()

    def begin_turn(self, text: str) -> None:
        """Read the user's message as an answer to what was asked."""
        # A question back leaves what it is about open.
        self._before = (self._before if self._kind is ReplyKind.QUESTION else {}) | self._since
        self._since = {}
        self._kind = classify_reply(text)
        self._answerable = set(self._before) if self._kind is ReplyKind.OTHER else set()
        self._declined = set(self._before) if self._kind is ReplyKind.NO else set()

    def asked(self, tools: Mapping[str, str]) -> None:
        """Note the calls that the user is asked about in this turn: their tools by digest."""
        self._since.update(tools)

    def take(self, digest: str) -> bool:
        """Use up the user's yes to a call; False if there is none."""
        if digest not in self._answerable:
            return False
        self._answerable.remove(digest)
        self._before.pop(digest, None)
        self._since.pop(digest, None)  # the next call is asked about anew
        return True

    def answer(self, pending: PendingApproval, *, confirmed: bool) -> Approval | ToolResult:
        """The user's approval of this call, or the result that the model gets instead."""
        if confirmed and self.take(pending.digest):
            return pending.approve()
        if pending.digest in self._declined:
            return pending.decline()
        asked = self._before | self._since
        if confirmed and pending.digest in asked:
            return not_confirmed(pending.tool)
        changed = confirmed and any(asked[one] == pending.tool for one in self._answerable)
        self._since[pending.digest] = pending.tool
        return pending.as_result(note="They agreed to other arguments." if changed else "", next_step=ASK_AND_END)

    def snapshot(self) -> dict[str, Any]:
        """The state as JSON; empty if nothing is open."""
        if not self._before and not self._since:
            return {}
        return {"reply": self._kind, "before": self._before, "since": self._since, "yes": sorted(self._answerable)}

    @classmethod
    def restored(cls, snapshot: Mapping[str, Any]) -> "Questions":
        """The questions of a snapshot."""
        made = cls()
        if snapshot:
            made._kind = ReplyKind(snapshot["reply"])
            made._before, made._since = dict(snapshot["before"]), dict(snapshot["since"])
            made._answerable = set(snapshot["yes"])
            made._declined = set(made._before) if made._kind is ReplyKind.NO else set()
        return made


class ReplyKind(StrEnum):
    """How a message answers an open question."""

    NO = "no"
    QUESTION = "question"  # neither yes nor no: the user wants to know more
    OTHER = "other"  # perhaps a yes: that is for the model to read


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


def classify_reply(text: str) -> ReplyKind:
    """How a user's message answers an open question."""
    folded = " ".join(text.casefold().split())
    if folded.startswith(_NO_BEGINNINGS):
        return ReplyKind.NO
    words = [word for word in map(_letters, folded.split()) if word]
    if words and not folded.startswith(_STILL_YES):
        if words[0] in _NO:
            return ReplyKind.NO
        joined = set(words) | {f"{one}-{two}" for one, two in pairwise(words)}
        if len(words) <= _SHORT_WORDS and joined & _NO_WITHIN:
            return ReplyKind.NO
    return ReplyKind.QUESTION if folded.endswith(_QUESTION_ENDS) else ReplyKind.OTHER


def _letters(word: str) -> str:
    """A word without punctuation. Combining marks stay: Hindi writes its vowels with them."""
    kept = (one for one in word.replace("’", "'") if one == "'" or unicodedata.category(one)[0] in "LM")
    return "".join(kept).strip("'")


def not_confirmed(tool: str) -> ToolResult:
    """The model claims an agreement that the user has not given."""
    return ToolResult.failure(f"{tool} was not called: the user has not agreed yet, and you cannot for them. Ask them.")


def declined(tool: str) -> ToolResult:
    """The user declined the call."""
    return ToolResult.failure(f"{tool} was not called: the user declined. Do not call it again; go on without it.")
