"""Runs: the user says something, or answers a question, and listens to what happens; or stops it."""

import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event

from toolcrib.agent.runner import confirm, stream
from toolcrib.server.middleware import http_error
from toolcrib.server.runs import Numbered, follow_local, follow_remote
from toolcrib.server.schemas import Answer, NewMessage, Refusal, Responses, Stopped
from toolcrib.server.services import ServicesHere, SessionId, StoreHere

sse = sys.modules[__name__]

# Events on the wire: server-sent events, one for each thing that happens.

_HEADERS = {"X-Accel-Buffering": "no"}  # proxies would wait for more
OPENAPI: Responses = {
    200: {
        "description": "What happens, event by event: `id` is a number that grows, `event` the type, `data` the event.",
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


def event_stream(told: AsyncGenerator[Numbered | None]) -> EventSourceResponse:
    """What is told, as it is. When the client goes, only the listening ends."""
    return EventSourceResponse(_lines(told), headers=_HEADERS)


async def _lines(told: AsyncGenerator[Numbered | None]) -> AsyncIterator[bytes]:
    async with aclosing(told):
        async for one in told:
            yield KEEPALIVE_COMMENT if one is None else line(one)


def line(one: Numbered) -> bytes:
    """One event as it is sent."""
    data = json.dumps(one.event, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return format_sse_event(data_str=data, event=one.event["type"], id=str(one.number))


routes = APIRouter(prefix="/api/sessions/{session}", tags=["runs"])
REFUSALS: Responses = {
    404: {"model": Refusal, "description": "There is no such session, or it is another's."},
    409: {"model": Refusal, "description": "Something happens in it already: listen with `GET .../messages`."},
    503: {"model": Refusal, "description": "Too much is going on, or the server is about to end."},
}


@routes.post("/messages", response_class=Response, responses={**sse.OPENAPI, **REFUSALS})
async def say(session: SessionId, message: NewMessage, services: ServicesHere, store: StoreHere) -> Response:
    """Say something to the agent, and listen to what happens. The run goes on when you stop listening."""
    crib = services.served.crib
    run = await services.runs.start(store, session, lambda opened: stream(opened, message.text, crib=crib))
    return sse.event_stream(run.follow(ping_seconds=services.options.ping_seconds))


@routes.get(
    "/messages",
    response_class=Response,
    responses={**sse.OPENAPI, 204: {"description": "Nothing happened since, and nothing happens."}, **REFUSALS},
)
async def listen(
    session: SessionId,
    services: ServicesHere,
    store: StoreHere,
    last_event_id: Annotated[str | None, Header(examples=["300000"])] = None,
    after: Annotated[str | None, Query(examples=["300000"])] = None,
) -> Response:
    """Listen to the run under way, from its beginning, or from after the event whose id is given (`Last-Event-ID`)."""
    given = last_event_id or after
    number = _number(given) if given else None
    ping_seconds = services.options.ping_seconds
    run = services.runs.find(store, session)
    if run is not None:
        return sse.event_stream(follow_local(run, store, session, number, ping_seconds=ping_seconds))
    told = await follow_remote(store, session, number, ping_seconds=ping_seconds)
    return Response(status_code=204) if told is None else sse.event_stream(told)


@routes.post("/confirmations/{confirmation}", response_class=Response, responses={**sse.OPENAPI, **REFUSALS})
async def answer_confirmation(
    session: SessionId, confirmation: str, answer: Answer, services: ServicesHere, store: StoreHere
) -> Response:
    """Answer a call that waits for the user's yes, and listen to what follows."""
    crib = services.served.crib
    run = await services.runs.start(
        store, session, lambda opened: confirm(opened, confirmation, answer.approved, crib=crib)
    )
    services.metrics.confirmed(answer.approved)
    return sse.event_stream(run.follow(ping_seconds=services.options.ping_seconds))


@routes.post("/stop", responses={404: REFUSALS[404]})
async def stop(session: SessionId, services: ServicesHere, store: StoreHere) -> Stopped:
    """Stop what happens in a session. What was done so far is kept."""
    stopped = await services.runs.stop(store, session)
    if not stopped:
        await store.events(session, after=2**53)  # is it there at all?
    return Stopped(stopped=stopped)


def _number(text: str) -> int:
    if text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 18:
        return int(text)
    raise http_error(400, f"{text[:40]!r} is no id of an event.", "Give the last `id` that was received.")
