"""The stored values of a session."""

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeAlias, cast

from toolcrib.errors import StoreError
from toolcrib.memory.working import WorkingMemory

# JSON as it is kept: strict when written, so that whatever is kept can be read again, by any program.


def to_text(value: object, what: str) -> str:
    """The JSON text of a value; `what` names it in the error."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"The {what} cannot be kept, because JSON cannot say it: {error}.",
            hint="Give dicts with text keys, lists, text, finite numbers, booleans and None.",
        ) from error
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair has no UTF-8, but it has an escape
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text


def from_text(text: str, what: str) -> Any:  # whatever was kept: only the one who kept it knows the shape
    """The value of a JSON text."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"The {what} cannot be read: {error}.",
            hint="The store was changed by hand or is damaged: restore it from a backup.",
        ) from error


# Moments as databases keep them: whole microseconds since 1970, exact as a float would not be, and easy to sort.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(time: datetime) -> int:
    """Microseconds from 1970 to this time."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(microseconds: int) -> datetime:
    """The time that `microseconds` converted."""
    return _EPOCH + timedelta(microseconds=microseconds)


def now() -> datetime:
    """The present moment, by this machine's clock."""
    return datetime.now(UTC)


MOST_ID_CHARACTERS = 200
MOST_TITLE_CHARACTERS = 200

Json: TypeAlias = Any  # opaque: only the one who keeps it knows its shape
Totals: TypeAlias = Mapping[str, int | float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A session in a list."""

    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    messages: int
    usage: Totals


class Resolution(StrEnum):
    """How a confirmation was resolved."""

    TAKEN = "taken"  # the user agreed, and the call was let through, once
    DECLINED = "declined"


class Refusal(StrEnum):
    """Why a confirmation cannot be taken."""

    UNKNOWN = "unknown"
    USED = "used"  # taken or declined before
    EXPIRED = "expired"
    CHANGED = "changed"  # it was given for another tool or other arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A question to the user: may this tool be called with exactly these arguments?"""

    id: str
    tool: str
    arguments: Mapping[str, Json]
    digest: str  # over tool and arguments, as the asker makes it
    created_at: datetime
    expires_at: datetime
    settled_at: datetime | None = None
    settled_as: Resolution | None = None
    program: Json = None  # that waits for the answer, where a program makes the call

    def is_pending(self, at: datetime) -> bool:
        """Whether the user can still answer it."""
        return self.settled_as is None and at < self.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedEvent:
    """One line of a session's log."""

    position: int
    at: datetime
    event: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunCall:
    """The mark that a call leaves immediately before it is made."""

    id: str
    tool: str
    fence: int  # of the holder that made it
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """All of a session at one moment."""

    id: str
    title: str = ""
    created_at: datetime
    updated_at: datetime
    memory: WorkingMemory = field(default_factory=WorkingMemory)
    toolbox: Json = None
    history: tuple[Json, ...] = ()
    usage: Totals = field(default_factory=dict[str, "int | float"])
    confirmations: tuple[Confirmation, ...] = ()
    events: tuple[LoggedEvent, ...] = ()
    calls: tuple[BegunCall, ...] = ()
    # Raised at each opening. Two copies of a session that were opened differently often are still the same session.
    fence: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step changes; stored in one transaction. None leaves a value unchanged."""

    messages: tuple[Json, ...] = ()
    memory: WorkingMemory | None = None
    toolbox: Json = None
    usage: Totals | None = None  # the new totals
    title: str | None = None
    events: tuple[Json, ...] = ()


def new_id() -> str:
    """A new random id."""
    return secrets.token_hex(8)


def checked_id(session_id: str) -> str:
    """A session's id, in any script; refused when it could not be shown, sent or stored."""
    # A leading dash would be an option on the command line.
    if session_id and not session_id.startswith("-") and _is_showable(session_id):
        return session_id
    raise StoreError(
        f"{session_id[:80]!r} cannot be the id of a session.",
        hint=f"Use 1 to {MOST_ID_CHARACTERS} printable characters, without spaces at the ends, not starting with '-'.",
    )


def checked_tenant(tenant: str) -> str:
    """A tenant's key; empty where there is only one."""
    if _is_showable(tenant):
        return tenant
    raise StoreError(
        f"{tenant[:80]!r} cannot be the key of a tenant.",
        hint=f"Use at most {MOST_ID_CHARACTERS} printable characters, without spaces at the ends.",
    )


def _is_showable(text: str) -> bool:
    return len(text) <= MOST_ID_CHARACTERS and text.isprintable() and text == text.strip()


# A confirmation as a row of a table, and why it cannot be used: the same in every store.

COLUMNS = "id, tool, arguments, digest, created_at, expires_at, settled_at, settled_as"
ConfirmationRow: TypeAlias = tuple[str, str, str, str, int, int, int | None, str | None]


def read_confirmation(row: ConfirmationRow) -> Confirmation:
    """The confirmation that a row holds, in the order of its columns."""
    id, tool, kept, digest, created_at, expires_at, settled_at, settled_as = row
    # Of a call that a program makes: with the program, in one place, so that neither is there without the other.
    held: Json = from_text(kept, "arguments")
    arguments, program = cast("list[Json]", held) if isinstance(held, list) else (held, None)
    return Confirmation(
        id=id,
        tool=tool,
        arguments=arguments,
        program=program,
        digest=digest,
        created_at=from_microseconds(created_at),
        expires_at=from_microseconds(expires_at),
        settled_at=None if settled_at is None else from_microseconds(settled_at),
        settled_as=None if settled_as is None else Resolution(settled_as),
    )


def confirmation_row(one: Confirmation) -> ConfirmationRow:
    """What a row keeps of a confirmation, in the order of its columns."""
    return (
        one.id,
        one.tool,
        to_text(dict(one.arguments) if one.program is None else [dict(one.arguments), one.program], "arguments"),
        one.digest,
        microseconds(one.created_at),
        microseconds(one.expires_at),
        None if one.settled_at is None else microseconds(one.settled_at),
        None if one.settled_as is None else one.settled_as.value,
    )


def refusal_of(held: Confirmation, at: datetime) -> Refusal:
    """Why a stored confirmation could not be resolved at that time."""
    if held.settled_as is not None:
        return Refusal.USED
    return Refusal.CHANGED if held.is_pending(at) else Refusal.EXPIRED


# What is kept of a session, as rows of tables: the same in every store.

SESSION_COLUMNS = "title, created_at, updated_at, memory, toolbox, usage, fence"
SessionRow: TypeAlias = tuple[str, int, int, str, str, str, int]
CALL_COLUMNS = "id, tool, fence, begun_at"
CallRow: TypeAlias = tuple[str, str, int, int]
InfoRow: TypeAlias = tuple[str, str, int, int, str, int]
EventRow: TypeAlias = tuple[int, int, str]


def read_session(
    id: str,
    row: SessionRow,
    messages: Iterable[tuple[str]],
    confirmations: tuple[Confirmation, ...],
    events: tuple[LoggedEvent, ...],
    calls: Iterable[CallRow],
) -> SessionRecord:
    """The session that a row holds, in the order of its columns, with what stands in the other tables."""
    title, created_at, updated_at, memory, toolbox, usage, fence = row
    return SessionRecord(
        id=id,
        title=title,
        created_at=from_microseconds(created_at),
        updated_at=from_microseconds(updated_at),
        memory=WorkingMemory.from_json(from_text(memory, "working memory")),
        toolbox=from_text(toolbox, "toolbox"),
        history=tuple(from_text(text, "message") for (text,) in messages),
        usage=from_text(usage, "usage"),
        confirmations=confirmations,
        events=events,
        calls=tuple(BegunCall(id=id, tool=tool, fence=by, at=from_microseconds(at)) for id, tool, by, at in calls),
        fence=fence,
    )


def call_row(call: BegunCall) -> CallRow:
    """What a row keeps of a call, in the order of its columns."""
    return call.id, call.tool, call.fence, microseconds(call.at)


def read_info(row: InfoRow) -> SessionInfo:
    """What a list of sessions shows: id, title, when it began and changed, usage, number of messages."""
    id, title, created_at, updated_at, usage, messages = row
    return SessionInfo(
        id=id,
        title=title,
        created_at=from_microseconds(created_at),
        updated_at=from_microseconds(updated_at),
        messages=messages,
        usage=from_text(usage, "usage"),
    )


def read_event(row: EventRow) -> LoggedEvent:
    """An event of the log: its position, its moment, itself."""
    position, at, event = row
    return LoggedEvent(position=position, at=from_microseconds(at), event=from_text(event, "event"))
