"""Routes that create, list, show and delete sessions."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from fastapi import APIRouter, Response

from toolcrib.server.runs import STRIDE
from toolcrib.server.schemas import (
    LoggedLine,
    Message,
    NewSession,
    OpenConfirmation,
    Refusal,
    Responses,
    SessionLine,
    SessionShape,
)
from toolcrib.server.services import Services, ServicesHere, SessionId, StoreHere
from toolcrib.stores.record import SessionRecord
from toolcrib.tools.result import as_json


def transcript(history: Sequence[Any]) -> list[Message]:
    """The messages and tool calls of a stored history, in order. A call and its result are one message."""
    return list(_messages(history))


def _messages(history: Sequence[Any]) -> Iterator[Message]:
    calls: dict[str, Any] = {}
    for message in history:
        for part in cast("list[dict[str, Any]]", message.get("parts", [])):
            at = part.get("timestamp") or message.get("timestamp")
            match part.get("part_kind"):
                case "user-prompt":
                    yield Message(role="user", text=_text(part["content"]), at=at)
                case "text" if part["content"]:
                    yield Message(role="assistant", text=part["content"], at=at)
                case "tool-call":
                    calls[part["tool_call_id"]] = part.get("args")
                case "tool-return" | "retry-prompt" if part.get("tool_name"):
                    call_id = str(part.get("tool_call_id", ""))
                    yield Message(
                        role="tool",
                        text=_text(part["content"]),
                        at=at,
                        name=part["tool_name"],
                        arguments=_arguments(calls.pop(call_id, None)),
                        call_id=call_id,
                    )
                case _:
                    pass


def _text(content: object) -> str:
    return content if isinstance(content, str) else as_json(content)


def _arguments(arguments: object) -> Any:
    """The arguments of a call, parsed if they are JSON: most providers send them as text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


MOST_SESSIONS = 200
MOST_EVENTS = 1_000

routes = APIRouter(prefix="/api/sessions", tags=["sessions"])
MISSING: Responses = {
    404: {"model": Refusal, "description": "There is no such session, or it belongs to another tenant."}
}


@routes.post("", status_code=201)
async def create_session(services: ServicesHere, store: StoreHere) -> NewSession:
    """Create a session."""
    async with store.open() as session:
        services.metrics.session_created()
        return NewSession(id=session.id)


@routes.get("")
async def list_sessions(services: ServicesHere, store: StoreHere) -> list[SessionLine]:
    """List the sessions, the most recently changed first."""
    return [
        SessionLine(
            id=one.id,
            title=one.title,
            updated_at=one.updated_at,
            messages=one.messages,
            running=services.runs.find(store, one.id) is not None,
        )
        for one in await store.sessions(limit=MOST_SESSIONS)
    ]


@routes.get("/{session}", responses=MISSING)
async def get_session(session: SessionId, services: ServicesHere, store: StoreHere) -> SessionShape:
    """Show a session: its messages, its working memory, and the confirmations that it waits for."""
    # Checked before the record is read, so that the record has all events of a run that ends in between. The run may be
    # on another replica.
    running = services.runs.find(store, session) is not None or await store.is_open(session)
    return _session_shape(services, await store.read(session), running)


@routes.delete("/{session}", status_code=204, response_description="The session was deleted.", responses=MISSING)
async def delete_session(session: SessionId, services: ServicesHere, store: StoreHere) -> Response:
    """Delete a session. If it has an active run, the run is stopped first."""
    await services.runs.stop(store, session)
    await store.delete(session)
    return Response(status_code=204)


def _session_shape(services: Services, record: SessionRecord, running: bool) -> SessionShape:
    crib = services.served.crib
    now = crib.clock()
    return SessionShape(
        id=record.id,
        title=record.title,
        created_at=record.created_at,
        updated_at=record.updated_at,
        messages=transcript(record.history),
        memory=record.memory.to_json(),
        active=list(crib.toolbox(record.toolbox).active),
        usage=dict(record.usage),
        confirmations=[
            OpenConfirmation(
                id=one.id,
                tool=one.tool,
                arguments=dict(one.arguments),
                created_at=one.created_at,
                expires_at=one.expires_at,
            )
            for one in record.confirmations
            if one.is_pending(now)
        ],
        events=[
            LoggedLine(id=line.position * STRIDE, at=line.at, event=line.event) for line in record.events[-MOST_EVENTS:]
        ],
        last_event_id=record.events[-1].position * STRIDE if record.events else -1,
        running=running,
    )
