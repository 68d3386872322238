"""A session as one JSON document, to be looked at, kept elsewhere, or taken to another store; nothing is left out.

This module loads pydantic; import it late.
"""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from toolcrib.errors import StoreError
from toolcrib.memory.working import WorkingMemory
from toolcrib.stores.record import MOST_TITLE_CHARACTERS, Confirmation, LoggedEvent, SessionRecord, Settled, checked_id
from toolcrib.tools.cleaning import clean

FORMAT = "toolcrib-session"
VERSION = 1


def to_document(record: SessionRecord) -> dict[str, Any]:
    """The session as JSON can say it."""
    return _Document(
        format=FORMAT,
        version=VERSION,
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
            )
            for one in record.confirmations
        ],
        events=[_Event(at=one.at, event=one.event) for one in record.events],
    ).model_dump(mode="json")


def from_document(document: object) -> SessionRecord:
    """The session that a document tells of."""
    if isinstance(document, dict) and document.get("format") == FORMAT and document.get("version", 0) != VERSION:  # pyright: ignore[reportUnknownMemberType] - it is what is being checked
        raise StoreError(
            f"This session was exported in another form than {VERSION}, the one this Toolcrib knows.",
            hint="Update Toolcrib: pip install --upgrade toolcrib",
        )
    try:
        said = _Document.model_validate(document, strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise StoreError(
            f"This is not an exported session: {'.'.join(map(str, first['loc'])) or 'document'}: {first['msg']}.",
            hint="Give what `toolcrib sessions export` wrote, unchanged.",
        ) from error
    return SessionRecord(
        id=checked_id(said.id),
        title=clean(said.title, MOST_TITLE_CHARACTERS),
        created_at=said.created_at,
        updated_at=said.updated_at,
        memory=WorkingMemory.from_json(said.memory),
        toolbox=said.toolbox,
        history=tuple(said.history),
        usage=said.usage,
        confirmations=tuple(Confirmation(**one.model_dump()) for one in said.confirmations),
        events=tuple(
            LoggedEvent(position=position, at=one.at, event=one.event) for position, one in enumerate(said.events)
        ),
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
    settled_as: Settled | None


class _Event(_Part):
    at: AwareDatetime
    event: Any


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
