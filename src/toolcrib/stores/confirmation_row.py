"""A confirmation as a row of a table, and why it cannot be used: the same in every store."""

from datetime import datetime
from typing import TypeAlias

from toolcrib.stores.json_text import from_text, to_text
from toolcrib.stores.moments import microseconds, moment
from toolcrib.stores.record import Confirmation, Refusal, Settled

COLUMNS = "id, tool, arguments, digest, created_at, expires_at, settled_at, settled_as"
ConfirmationRow: TypeAlias = tuple[str, str, str, str, int, int, int | None, str | None]


def read_confirmation(row: ConfirmationRow) -> Confirmation:
    """The confirmation that a row holds, in the order of its columns."""
    id, tool, arguments, digest, created_at, expires_at, settled_at, settled_as = row
    return Confirmation(
        id=id,
        tool=tool,
        arguments=from_text(arguments, "arguments"),
        digest=digest,
        created_at=moment(created_at),
        expires_at=moment(expires_at),
        settled_at=None if settled_at is None else moment(settled_at),
        settled_as=None if settled_as is None else Settled(settled_as),
    )


def confirmation_row(one: Confirmation) -> ConfirmationRow:
    """What a row keeps of a confirmation, in the order of its columns."""
    return (
        one.id,
        one.tool,
        to_text(dict(one.arguments), "arguments"),
        one.digest,
        microseconds(one.created_at),
        microseconds(one.expires_at),
        None if one.settled_at is None else microseconds(one.settled_at),
        None if one.settled_as is None else one.settled_as.value,
    )


def refusal_of(held: Confirmation, at: datetime) -> Refusal:
    """Why a confirmation that is held could not be settled at that moment."""
    if held.settled_as is not None:
        return Refusal.USED
    return Refusal.CHANGED if held.is_pending(at) else Refusal.EXPIRED
