"""What a store keeps of a session, as frozen values."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from toolcrib.errors import StoreError
from toolcrib.memory.working import WorkingMemory

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


class Settled(StrEnum):
    """What became of a confirmation."""

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
    settled_as: Settled | None = None

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step leaves behind; kept all at once or not at all. None means: as before."""

    messages: tuple[Json, ...] = ()
    memory: WorkingMemory | None = None
    toolbox: Json = None
    usage: Totals | None = None  # the new totals
    title: str | None = None
    events: tuple[Json, ...] = ()


def new_id() -> str:
    """An id that nobody has and nobody guesses."""
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
