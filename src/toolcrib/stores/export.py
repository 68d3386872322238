"""Export and import: a session as one JSON document, and archives of many sessions. Nothing is left out.

This module loads pydantic; import it late.
"""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, TextIO, cast

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from toolcrib.errors import StoreError
from toolcrib.memory.working import WorkingMemory
from toolcrib.stores.record import (
    MOST_TITLE_CHARACTERS,
    BegunCall,
    Confirmation,
    LoggedEvent,
    Resolution,
    SessionRecord,
    checked_id,
    checked_tenant,
)
from toolcrib.stores.store import StoreAdmin
from toolcrib.tools.text import clean

DOCUMENT_FORMAT = "toolcrib-session"
DOCUMENT_VERSION = 1


def to_document(record: SessionRecord) -> dict[str, Any]:
    """The session as a JSON document."""
    return _Document(
        format=DOCUMENT_FORMAT,
        version=DOCUMENT_VERSION,
        id=record.id,
        title=record.title,
        created_at=record.created_at,
        updated_at=record.updated_at,
        memory=record.memory.to_json(),
        toolbox=record.toolbox,
        history=list(record.history),
        usage=dict(record.usage),
        confirmations=[
            _Confirmation(
                id=one.id,
                tool=one.tool,
                arguments=dict(one.arguments),
                digest=one.digest,
                created_at=one.created_at,
                expires_at=one.expires_at,
                settled_at=one.settled_at,
                settled_as=one.settled_as,
                program=one.program,
            )
            for one in record.confirmations
        ],
        events=[_Event(at=one.at, event=one.event) for one in record.events],
        calls=[_Call(id=one.id, tool=one.tool, fence=one.fence, at=one.at) for one in record.calls],
        fence=record.fence,
    ).model_dump(mode="json")


def from_document(document: object) -> SessionRecord:
    """The session in a document."""
    head = cast("dict[str, object]", document) if isinstance(document, dict) else {}
    if head.get("format") == DOCUMENT_FORMAT and head.get("version", 0) != DOCUMENT_VERSION:
        raise StoreError(
            f"This session was exported in another form than {DOCUMENT_VERSION}, the one this Toolcrib knows.",
            hint="Update Toolcrib: pip install --upgrade toolcrib",
        )
    try:
        parsed = _Document.model_validate(document, strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise StoreError(
            f"This is not an exported session: {'.'.join(map(str, first['loc'])) or 'document'}: {first['msg']}.",
            hint="Give what `toolcrib sessions export` wrote, unchanged.",
        ) from error
    return SessionRecord(
        id=checked_id(parsed.id),
        title=clean(parsed.title, MOST_TITLE_CHARACTERS),
        created_at=parsed.created_at,
        updated_at=parsed.updated_at,
        memory=WorkingMemory.from_json(parsed.memory),
        toolbox=parsed.toolbox,
        history=tuple(parsed.history),
        usage=parsed.usage,
        confirmations=tuple(Confirmation(**one.model_dump()) for one in parsed.confirmations),
        events=tuple(
            LoggedEvent(position=position, at=one.at, event=one.event) for position, one in enumerate(parsed.events)
        ),
        calls=tuple(BegunCall(**one.model_dump()) for one in parsed.calls),
        fence=parsed.fence,
    )


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Confirmation(_Part):
    id: str
    tool: str
    arguments: dict[str, Any]
    digest: str
    created_at: AwareDatetime
    expires_at: AwareDatetime
    settled_at: AwareDatetime | None
    settled_as: Resolution | None
    program: Any = None  # older exports have none


class _Event(_Part):
    at: AwareDatetime
    event: Any


class _Call(_Part):
    id: str
    tool: str
    fence: int
    at: AwareDatetime


class _Document(_Part):
    format: Literal["toolcrib-session"]
    version: Literal[1]
    id: str
    title: str
    created_at: AwareDatetime
    updated_at: AwareDatetime
    memory: dict[str, Any]
    toolbox: Any
    history: list[Any]
    usage: dict[str, Annotated[int | float, Field(allow_inf_nan=False)]]
    confirmations: list[_Confirmation]
    events: list[_Event]
    calls: list[_Call] = []  # older exports have none
    fence: int = 0


# A whole place as one file of JSON Lines: every session of every tenant, one a line, between a head and an end.

FORMAT = "toolcrib-store"
VERSION = 1
_HINT = "Give what `toolcrib store export` wrote, unchanged."


@dataclass(frozen=True, slots=True)
class ExportedSession:
    """A session that is exported or imported."""

    tenant: str
    record: SessionRecord


async def exported_sessions(place: StoreAdmin, tenants: tuple[str, ...]) -> AsyncIterator[ExportedSession]:
    """The sessions of these tenants, each read when it is its turn."""
    for tenant in tenants:
        store = place.store(tenant)
        for info in reversed(await store.sessions()):
            yield ExportedSession(tenant, await store.read(info.id))


def head() -> str:
    """The first line."""
    return _line({"format": FORMAT, "version": VERSION})


def line_of(session: ExportedSession) -> str:
    """A session as its line."""
    return _line({"tenant": session.tenant, "session": to_document(session.record)})


def end(count: int) -> str:
    """The last line."""
    return _line({"sessions": count})


def read_archive(lines: TextIO) -> Iterator[ExportedSession]:
    """The sessions of an archive; raises an error if it is not ours, or incomplete."""
    first = _read(next(lines, ""), 1)
    if first.get("format") != FORMAT or first.get("version") != VERSION:
        raise StoreError("This is not an exported store, or one of another version.", hint=_HINT)
    count = 0
    for number, text in enumerate(lines, 2):
        entry = _read(text, number)
        if "session" not in entry:
            if entry.get("sessions") == count:
                return
            break
        yield ExportedSession(checked_tenant(str(entry.get("tenant", ""))), from_document(entry["session"]))
        count += 1
    raise StoreError(f"The file ends too early: after {count} sessions.", hint="Export the store again.")


def _read(text: str, number: int) -> dict[str, Any]:
    try:
        entry = json.loads(text)
    except ValueError as error:
        raise StoreError(f"Line {number} of the file cannot be read: {error}.", hint=_HINT) from error
    if not isinstance(entry, dict):
        raise StoreError(f"Line {number} of the file holds no session.", hint=_HINT)
    return entry  # pyright: ignore[reportUnknownVariableType] - its parts are checked where they are used


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, separators=(",", ":")) + "\n"  # ASCII: whatever a terminal or an editor does to it


# Taking sessions from one place into another, so that nothing is lost and nothing overwritten by accident.


class ImportStatus(StrEnum):
    """How a session compares with the one at its destination."""

    NEW = "new"
    SAME = "same"
    DIFFERENT = "different"


@dataclass(slots=True)
class ImportCounts:
    """The number of sessions of each status."""

    new: int = 0
    same: int = 0
    different: int = 0
    first_different: str = ""

    def add(self, session: ExportedSession, arrival: ImportStatus) -> None:
        setattr(self, arrival.value, getattr(self, arrival.value) + 1)
        if arrival is ImportStatus.DIFFERENT and not self.first_different:
            of_tenant = f" of the tenant {session.tenant!r}" if session.tenant else ""
            self.first_different = f"{session.record.id!r}{of_tenant}"

    def refuse_different(self) -> None:
        """Raise an error if a different session would be overwritten."""
        if self.different:
            raise StoreError(
                f"{self.different} sessions are there already and differ, the first is {self.first_different}. "
                "Nothing was written.",
                hint="Give --overwrite to replace them, or another store.",
            )


class Destination:
    """A store that sessions are imported into."""

    def __init__(self, place: StoreAdmin, *, overwrite: bool = False) -> None:
        self._place = place
        self._overwrite = overwrite
        self._known: dict[str, set[str]] = {}  # by tenant

    async def compare(self, session: ExportedSession) -> ImportStatus:
        """Whether the session exists there already; changes nothing."""
        if session.tenant not in self._known:
            is_there = session.tenant in await self._place.tenants()
            infos = await self._place.store(session.tenant).sessions() if is_there else ()
            self._known[session.tenant] = {info.id for info in infos}
        if session.record.id not in self._known[session.tenant]:
            return ImportStatus.NEW
        there = await self._place.store(session.tenant).read(session.record.id)
        return ImportStatus.SAME if there == session.record else ImportStatus.DIFFERENT

    async def import_session(self, session: ExportedSession) -> ImportStatus:
        """Import a session, and verify the result."""
        arrival = await self.compare(session)
        if arrival is ImportStatus.SAME:
            return arrival
        await self._place.store(session.tenant).restore(session.record, overwrite=self._overwrite)
        self._known[session.tenant].add(session.record.id)
        if await self.compare(session) is not ImportStatus.SAME:
            raise StoreError(
                f"The session {session.record.id!r} did not arrive as it was sent.",
                hint="Somebody may use it there just now: stop the servers on both stores, and try again.",
            )
        return arrival
