"""A program that waits for the user, as it is kept, and what else outlives one program of a session.

Monty does not authenticate its snapshots, so each is sealed: an HMAC over all of it and over whom it belongs to. With
`TOOLCRIB_PROGRAM_KEY` nobody who only writes the store can make one; without, the seal finds accidents, and a program
that was moved to another session or tenant.
"""

import hmac
import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

from toolcrib.discovery.confirmation import Pause, PendingApproval, digest
from toolcrib.discovery.program.limits import CodeLimits
from toolcrib.settings import PROGRAM_KEY, variable
from toolcrib.tools.result import as_json
from toolcrib.tools.schema import mapping

RUN_CODE = "run_code"
FORM = 1
_MOST_PAUSED = 20
_MOST_RESULTS = 8
_MOST_LEARNED = 50
_MOST_MADE = 300
_MOST_LINES_AROUND = 8  # of a long program, around the line that waits
_PROCESS_KEY = secrets.token_bytes(32)

GONE = (
    "There is no program {id!r} that waits: it went on, was declined, or is not known here. Run a new one if need be."
)
EXPIRED = "The program {id!r} waited too long, and is not run any more. Run a new one if the user still wants it."
DAMAGED = "The program {id!r} is not as it was when it was paused, so it is not run. Tell the user."
OTHER_MONTY = (
    "The program {id!r} was paused by version {then} of the sandbox, and this is {now}: it cannot go on. "
    "It called before: {made}. Do only what is left, in a new program."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCall:
    """A call that a program wants to make and the user has to agree to."""

    id: int  # as the sandbox counts
    tool: str
    arguments: Mapping[str, Any]
    line: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedProgram:
    """A program that waits for the user's answer about the first of its waiting calls."""

    id: str
    code: str
    waiting: tuple[WaitingCall, ...]
    made: tuple[str, ...]  # calls that it made before
    calls: int
    printed: str
    monty: str
    expires_at: datetime
    snapshot: bytes = field(repr=False)

    def to_json(self, programs: "Programs") -> dict[str, Any]:
        """The program as it is kept, sealed for its owner."""
        fields = self._fields()
        return {**fields, "seal": programs.seal(fields)}

    def _fields(self) -> dict[str, Any]:
        calls = [[one.id, one.tool, dict(one.arguments), one.line, one.reason] for one in self.waiting]
        return {
            "form": FORM,
            "id": self.id,
            "code": self.code,
            "waiting": json.loads(as_json(calls)),
            "made": list(self.made),
            "calls": self.calls,
            "printed": self.printed,
            "monty": self.monty,
            "expires_at": self.expires_at.isoformat(),
            "snapshot": b64encode(self.snapshot).decode(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "PausedProgram":
        """The program that was kept; its seal is checked by `Programs.find`."""
        calls = cast("list[tuple[int, str, dict[str, Any], int, str]]", stored["waiting"])
        return cls(
            id=stored["id"],
            code=stored["code"],
            waiting=tuple(
                WaitingCall(id=id, tool=tool, arguments=arguments, line=line, reason=reason)
                for id, tool, arguments, line, reason in calls
            ),
            made=tuple(stored["made"]),
            calls=stored["calls"],
            printed=stored["printed"],
            monty=stored["monty"],
            expires_at=datetime.fromisoformat(stored["expires_at"]),
            snapshot=b64decode(stored["snapshot"]),
        )

    def pending(self, programs: "Programs") -> PendingApproval:
        """The question to the user. A yes to it is for this call of this program, and for no other."""
        first = self.waiting[0]
        return PendingApproval(
            tool=first.tool,
            arguments=first.arguments,
            digest=digest(first.tool, {"arguments": first.arguments, "program": self.id, "call": first.id}),
            reason=first.reason,
            pause=Pause(
                program=self.id,
                runs=RUN_CODE,
                listing=listing(self.code, first.line),
                made=self.made,
                expires_in=self.expires_at - programs.clock(),
                stored=self.to_json(programs),
            ),
        )


def of_call(mark: str, call: str) -> bool:
    """Whether the id of a mark is that of a call of the model, or of one that this call made."""
    return mark == call or mark.startswith(f"{call}:")


def listing(code: str, line: int) -> str:
    """A program with numbers, the given line marked; of a long one what stands around it."""
    lines = code.splitlines()
    first, last = max(1, line - _MOST_LINES_AROUND), min(len(lines), line + _MOST_LINES_AROUND)
    if len(lines) <= 2 * _MOST_LINES_AROUND:
        first, last = 1, len(lines)
    shown = [f"{'>' if at == line else ' '} {at:>3} | {lines[at - 1]}" for at in range(first, last + 1)]
    return "\n".join([*(["  ..."] if first > 1 else []), *shown, *(["  ..."] if last < len(lines) else [])])


Clock: TypeAlias = Callable[[], datetime]


def _now() -> datetime:
    return datetime.now(UTC)


class Programs:
    """What outlives a program in one session: paused ones, large results by name, and what tools returned."""

    def __init__(self, *, owner: str = "", clock: Clock = _now) -> None:
        self.owner = owner  # tenant and session; a program of another one is not run
        self.clock = clock
        self.in_history = False  # whether paused programs stand in messages, which a client may have written
        self.results: dict[str, Any] = {}
        self.returned: dict[str, dict[str, Any]] = {}  # schemas of results, by tools that declare none
        self.made: dict[str, str] = {}  # calls of the program that runs, by the ids of their marks
        self._paused: dict[str, Mapping[str, Any]] = {}
        self._numbers = 0

    # Paused programs

    def seal(self, fields: Mapping[str, Any]) -> str:
        """What proves that a program is as it was kept, for this owner."""
        key = (variable(PROGRAM_KEY) or "").encode() or (_PROCESS_KEY if self.in_history else b"")
        text = json.dumps([self.owner, fields], sort_keys=True)
        return hmac.new(key, text.encode(), "sha256").hexdigest()

    def hold(self, stored: object) -> None:
        """Take a paused program as it was kept; what is none is passed over."""
        fields = mapping(stored)
        if isinstance(fields.get("id"), str):
            self._paused[fields["id"]] = fields
            while len(self._paused) > _MOST_PAUSED:
                del self._paused[next(iter(self._paused))]

    def find(self, id: str, monty: str) -> PausedProgram | str:
        """The paused program of this id, if it can go on; else why it cannot."""
        stored = self._paused.get(id)
        if stored is None:
            return GONE.format(id=id[:40])
        fields = {key: value for key, value in stored.items() if key != "seal"}
        if not hmac.compare_digest(str(stored.get("seal", "")), self.seal(fields)) or fields.get("form") != FORM:
            return DAMAGED.format(id=id)
        paused = PausedProgram.from_json(stored)
        if self.clock() >= paused.expires_at:
            return EXPIRED.format(id=id)
        if paused.monty != monty:
            made = ", ".join(paused.made) or "nothing"
            return OTHER_MONTY.format(id=id, then=paused.monty, now=monty, made=made)
        return paused

    def drop(self, id: str) -> bool:
        """Forget a paused program, because it goes on; False if somebody else was first."""
        return self._paused.pop(id, None) is not None

    # What a program did that is cut off

    def note_made(self, mark: str, shown: str) -> None:
        """Note a call that happened, by the id of its mark."""
        self.made[mark] = shown
        while len(self.made) > _MOST_MADE:
            del self.made[next(iter(self.made))]

    def forget_made(self, call: str) -> None:
        """Forget the calls of a program whose result tells of them."""
        self.made = {mark: shown for mark, shown in self.made.items() if not of_call(mark, call)}

    # Large results, and what tools returned

    def keep(self, value: object, limits: CodeLimits) -> str:
        """Keep a result for later programs; gives the name under which they find it, or none if it is too large."""
        size = len(as_json(value))
        if size > limits.kept_characters:
            return ""
        self._numbers += 1
        name = f"result_{self._numbers}"
        self.results[name] = value
        while len(self.results) > _MOST_RESULTS or sum(map(_size, self.results.values())) > limits.kept_characters:
            del self.results[next(iter(self.results))]
        return name

    def learn(self, tool: str, schema: dict[str, Any]) -> None:
        """Note what a tool returned."""
        self.returned[tool] = schema
        if len(self.returned) > _MOST_LEARNED:
            del self.returned[next(iter(self.returned))]

    def snapshot(self) -> dict[str, Any]:
        """What is kept, as JSON; empty if there is nothing. Paused programs of a session stand beside its questions."""
        held = {
            "results": self.results,
            "returned": self.returned,
            "paused": list(self._paused.values()) if not self.owner and not self.in_history else [],
            "numbers": self._numbers,
            "made": self.made,
        }
        return {key: value for key, value in held.items() if value}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.results = dict(mapping(snapshot.get("results")))
        self.returned = dict(mapping(snapshot.get("returned")))
        self.made = dict(mapping(snapshot.get("made")))
        self._numbers = int(snapshot.get("numbers", 0))
        for stored in cast("list[object]", snapshot.get("paused", [])):
            self.hold(stored)


def _size(value: object) -> int:
    return len(as_json(value))
