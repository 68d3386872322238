"""A confirmation as a row of a table, the same in every store."""

from typing import TypeAlias

from toolcrib.stores.json_text import from_text
from toolcrib.stores.moments import moment
from toolcrib.stores.record import Confirmation, Settled

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
