"""Routes that create, list, show and delete sessions."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query, Response

from toolcrib.server.runs import STRIDE, position_of
from toolcrib.server.schemas import (
    MAX_QUERY_CHARACTERS,
    Feedback,
    Learned,
    LoggedLine,
    Message,
    NewSession,
    NewTitle,
    OpenConfirmation,
    Refusal,
    Responses,
    SessionLine,
    SessionShape,
)
from toolcrib.server.services import Services, ServicesHere, SessionId, StoreHere
from toolcrib.stores.record import LoggedEvent, SessionInfo, SessionRecord
from toolcrib.stores.store import Store
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
MOST_RATED = 8  # tools of one run

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
async def list_sessions(
    services: ServicesHere,
    store: StoreHere,
    query: Annotated[str, Query(max_length=MAX_QUERY_CHARACTERS, examples=["opening hours"])] = "",
) -> list[SessionLine]:
    """List the sessions, the most recently changed first; with `query`, those whose title or messages contain it."""
    found = await store.sessions(limit=MOST_SESSIONS)
    if words := query.casefold().split():
        found = [one for one in found if await _contains(store, one, words)]
    return [
        SessionLine(
            id=one.id,
            title=one.title,
            updated_at=one.updated_at,
            messages=one.messages,
            running=services.runs.find(store, one.id) is not None,
        )
        for one in found
    ]


async def _contains(store: Store, session: SessionInfo, words: Sequence[str]) -> bool:
    if all(word in session.title.casefold() for word in words):
        return True
    history = (await store.read(session.id)).history
    texts = [session.title, *(one.text for one in transcript(history) if one.role != "tool")]
    text = "\n".join(texts).casefold()
    return all(word in text for word in words)


@routes.get("/{session}", responses=MISSING)
async def get_session(session: SessionId, services: ServicesHere, store: StoreHere) -> SessionShape:
    """Show a session: its messages, its working memory, and the confirmations that it waits for."""
    # Checked before the record is read, so that the record has all events of a run that ends in between. The run may be
    # on another replica.
    running = services.runs.find(store, session) is not None or await store.is_open(session)
    return _session_shape(services, await store.read(session), running)


@routes.patch("/{session}", status_code=204, response_description="The title was changed.", responses=MISSING)
async def rename_session(session: SessionId, title: NewTitle, store: StoreHere) -> Response:
    """Give a session a title of its own."""
    async with store.open(session, create=False) as opened:
        await opened.append(title=title.title)
    return Response(status_code=204)


@routes.post("/{session}/feedback", responses=MISSING)
async def rate(session: SessionId, feedback: Feedback, services: ServicesHere, store: StoreHere) -> Learned:
    """Say whether a run used the right tools. The search learns which tools the request should lead to, where the
    server may learn; the rating stays in the log."""
    async with store.open(session, create=False) as opened:
        events = await store.events(session, after=position_of(feedback.run) - 1)
        run = _run_of(events, position_of(feedback.run))
        tools = _right_tools(services, feedback, run)
        crib = services.served.crib
        learned = [name for name in tools if run and (crib.learn or not services.options.tokens)]
        for name in learned:
            await asyncio.to_thread(crib.tool_index.learn, str(run[0]["text"]), name)
        await opened.append(events=[{"type": "feedback", **feedback.model_dump(), "learned": learned}])
    return Learned(learned=learned)


def _run_of(events: Sequence[LoggedEvent], position: int) -> list[dict[str, Any]]:
    """The events of the run that begins at a position of the log; empty if none does."""
    found: list[dict[str, Any]] = []
    for line in events:
        starts = line.event["type"] == "run_started"
        if (line.position == position) != starts and (starts or not found):
            break
        found.append(line.event)
    return found


def _right_tools(services: Services, feedback: Feedback, run: Sequence[dict[str, Any]]) -> list[str]:
    """The tools that the request should lead to, as far as the user says."""
    toolbox = services.toolbox()
    if feedback.tool is not None:
        names = [feedback.tool]
    elif feedback.good:
        names = [name for one in run if one["type"] == "usage" for name in one["report"]["tools_used"]]
    else:
        names = []
    return [name for name in names if toolbox.find(name) is not None][:MOST_RATED]


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
