"""A whole place as one file of JSON Lines: every session of every tenant, one a line, between a head and an end.

The end tells that nothing is missing. This module loads pydantic; import it late.
"""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from toolcrib.errors import StoreError
from toolcrib.stores.document import from_document, to_document
from toolcrib.stores.place import Place
from toolcrib.stores.record import SessionRecord, checked_tenant

FORMAT = "toolcrib-store"
VERSION = 1
_HINT = "Give what `toolcrib store export` wrote, unchanged."


@dataclass(frozen=True, slots=True)
class Parcel:
    """One session on its way from one place to another."""

    tenant: str
    record: SessionRecord


async def parcels_of(place: Place, tenants: tuple[str, ...]) -> AsyncIterator[Parcel]:
    """The sessions of these tenants, each as it is when it is reached."""
    for tenant in tenants:
        store = place.store(tenant)
        for info in reversed(await store.sessions()):
            yield Parcel(tenant, await store.read(info.id))


def head() -> str:
    """The first line."""
    return _line({"format": FORMAT, "version": VERSION})


def line_of(parcel: Parcel) -> str:
    """A session as its line."""
    return _line({"tenant": parcel.tenant, "session": to_document(parcel.record)})


def end(count: int) -> str:
    """The last line."""
    return _line({"sessions": count})


def read_archive(lines: TextIO) -> Iterator[Parcel]:
    """What a file holds; refused when it is not ours, or when something is missing."""
    first = _read(next(lines, ""), 1)
    if first.get("format") != FORMAT or first.get("version") != VERSION:
        raise StoreError("This is not an exported store, or one of another version.", hint=_HINT)
    count = 0
    for number, text in enumerate(lines, 2):
        said = _read(text, number)
        if "session" not in said:
            if said.get("sessions") == count:
                return
            break
        yield Parcel(checked_tenant(str(said.get("tenant", ""))), from_document(said["session"]))
        count += 1
    raise StoreError(f"The file ends too early: after {count} sessions.", hint="Export the store again.")


def _read(text: str, number: int) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except ValueError as error:
        raise StoreError(f"Line {number} of the file cannot be read: {error}.", hint=_HINT) from error
    if not isinstance(said, dict):
        raise StoreError(f"Line {number} of the file holds no session.", hint=_HINT)
    return said  # pyright: ignore[reportUnknownVariableType] - its parts are checked where they are used


def _line(said: dict[str, Any]) -> str:
    return json.dumps(said, separators=(",", ":")) + "\n"  # ASCII: whatever a terminal or an editor does to it
