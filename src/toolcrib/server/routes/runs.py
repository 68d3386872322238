"""Routes that start a run (by a message or a confirmation), follow its events, or stop it."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event

from toolcrib.agent.runner import confirm, stream
from toolcrib.server.middleware import http_error
from toolcrib.server.runs import EventStream, Numbered, follow_local, follow_remote
from toolcrib.server.schemas import Answer, NewMessage, Refusal, Responses, Stopped
from toolcrib.server.services import ServicesHere, SessionId, StoreHere

_HEADERS = {"X-Accel-Buffering": "no"}  # keeps proxies from buffering the stream
OPENAPI: Responses = {
    200: {
        "description": "The events of the run: `id` is an increasing number, `event` the type, `data` the JSON.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'event: run_started\ndata: {"type":"run_started","session":"5f0c","text":"Hi"}\n'
                "id: 0\n\n"
                'event: answered\ndata: {"type":"answered","text":"Hello."}\nid: 100000\n\n',
            }
        },
    }
}


def event_stream(events: EventStream) -> EventSourceResponse:
    """The events as server-sent events. When the client disconnects, the stream ends, but the run continues."""
    return EventSourceResponse(_encode(events), headers=_HEADERS)


async def _encode(events: EventStream) -> AsyncIterator[bytes]:
    async with aclosing(events):
        async for event in events:
            yield KEEPALIVE_COMMENT if event is None else encode_event(event)


def encode_event(numbered: Numbered) -> bytes:
    """One event in the format of server-sent events."""
    data = json.dumps(numbered.event, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return format_sse_event(data_str=data, event=numbered.event["type"], id=str(numbered.number))


routes = APIRouter(prefix="/api/sessions/{session}", tags=["runs"])
REFUSALS: Responses = {
    404: {"model": Refusal, "description": "There is no such session, or it belongs to another tenant."},
    409: {"model": Refusal, "description": "The session has an active run: follow it with `GET .../messages`."},
    503: {"model": Refusal, "description": "There are too many active runs, or the server is shutting down."},
}


@routes.post("/messages", response_class=Response, responses={**OPENAPI, **REFUSALS})
async def send_message(session: SessionId, message: NewMessage, services: ServicesHere, store: StoreHere) -> Response:
    """Send a message to the agent and stream the events of its run. The run continues if the client disconnects."""
    crib = await services.crib_with(message.model)
    run = await services.runs.start(store, session, lambda opened: stream(opened, message.text, crib=crib))
    return event_stream(run.follow(ping_seconds=services.options.ping_seconds))


@routes.get(
    "/messages",
    response_class=Response,
    responses={**OPENAPI, 204: {"description": "There are no newer events and no active run."}, **REFUSALS},
)
async def follow_run(
    session: SessionId,
    services: ServicesHere,
    store: StoreHere,
    last_event_id: Annotated[str | None, Header(examples=["300000"])] = None,
    after: Annotated[str | None, Query(examples=["300000"])] = None,
) -> Response:
    """Stream the events of the active run, from its start or, with `Last-Event-ID` or `after`, after that event."""
    last_id = last_event_id or after
    number = _number(last_id) if last_id else None
    ping_seconds = services.options.ping_seconds
    run = services.runs.find(store, session)
    if run is not None:
        return event_stream(follow_local(run, store, session, number, ping_seconds=ping_seconds))
    events = await follow_remote(store, session, number, ping_seconds=ping_seconds)
    return Response(status_code=204) if events is None else event_stream(events)


@routes.post("/confirmations/{confirmation}", response_class=Response, responses={**OPENAPI, **REFUSALS})
async def answer_confirmation(
    session: SessionId, confirmation: str, answer: Answer, services: ServicesHere, store: StoreHere
) -> Response:
    """Approve or decline a call that waits for confirmation, and stream the events that follow."""
    crib = await services.crib_with(answer.model)
    run = await services.runs.start(
        store,
        session,
        lambda opened: confirm(opened, confirmation, answer.approved, crib=crib, arguments=answer.arguments),
    )
    services.metrics.confirmed(answer.approved)
    return event_stream(run.follow(ping_seconds=services.options.ping_seconds))


@routes.post("/stop", responses={404: REFUSALS[404]})
async def stop(session: SessionId, services: ServicesHere, store: StoreHere) -> Stopped:
    """Stop the active run of a session. What was done so far is kept."""
    stopped = await services.runs.stop(store, session)
    if not stopped:
        await store.events(session, after=2**53)  # raises if there is no such session
    return Stopped(stopped=stopped)


def _number(text: str) -> int:
    if text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 18:
        return int(text)
    raise http_error(400, f"{text[:40]!r} is not an event id.", "Send the last `id` that you received.")
