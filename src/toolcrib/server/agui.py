"""The AG-UI protocol: translates the runner's events to AG-UI events. An AG-UI thread is a session like any other.

Pydantic AI has an AG-UI adapter, but it runs the agent itself. Our runner adds sessions, confirmations and a log, so
its events are translated instead. Events that AG-UI does not define (discovery, usage) are sent as custom events under
our names. A call that needs the user's confirmation ends the run with an interrupt; the answer comes in the `resume`
of the next run.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any, cast

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    Interrupt,
    ResumeEntry,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    UserMessage,
)
from ag_ui.encoder import EventEncoder
from fastapi import APIRouter, Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse

from toolcrib.agent.crib import Crib
from toolcrib.agent.events import Event
from toolcrib.agent.runner import confirm, stream
from toolcrib.errors import StoreError, UnknownSessionError
from toolcrib.server.middleware import http_error
from toolcrib.server.runs import STOPPED, LiveRun, StartRun
from toolcrib.server.schemas import MAX_TEXT_CHARACTERS, Refusal
from toolcrib.server.services import ServicesHere, StoreHere
from toolcrib.stores.record import checked_id
from toolcrib.stores.session import Session
from toolcrib.stores.store import Store

routes = APIRouter(tags=["ag-ui"])

ANSWER = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}
EXAMPLE = {"threadId": "t1", "runId": "r1", "messages": [{"id": "m1", "role": "user", "content": "Show all pages"}]}


@routes.post(
    "/agui",
    response_class=Response,
    responses={
        200: {"description": "AG-UI events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
        400: {"model": Refusal, "description": "There is no user message, or the thread id is invalid."},
        409: {"model": Refusal, "description": "The thread has an active run."},
    },
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
async def run_agent(request: RunAgentInput, services: ServicesHere, store: StoreHere) -> Response:
    """Run the agent for an AG-UI front end: with the last user message, or with answers to interrupts (`resume`)."""
    start_run = _start_run(request, services.served.crib)
    await _create_thread(store, request.thread_id)
    run = await services.runs.start(store, request.thread_id, start_run)
    return EventSourceResponse(_encode(run, request, services.options.ping_seconds))


async def _create_thread(store: Store, thread: str) -> None:
    try:
        checked_id(thread)
    except StoreError as error:
        raise http_error(400, str(error), error.hint) from error
    try:
        await store.events(thread, after=2**53)
    except UnknownSessionError:
        async with store.open(thread):
            pass


def _start_run(request: RunAgentInput, crib: Crib) -> StartRun:
    if answers := request.resume:
        return lambda session: _resume(session, answers, crib)
    text = next((_text(message) for message in reversed(request.messages) if isinstance(message, UserMessage)), "")
    if not text.strip() or len(text) > MAX_TEXT_CHARACTERS:
        raise http_error(
            400, "There is no user message, or it is too long.", f"Send 1 to {MAX_TEXT_CHARACTERS:,} characters."
        )
    return lambda session: stream(session, text, crib=crib)


async def _resume(session: Session, answers: Sequence[ResumeEntry], crib: Crib) -> AsyncGenerator[Event]:
    for one in answers:
        approved = one.status == "resolved" and _is_approval(one.payload)
        async for event in confirm(session, one.interrupt_id, approved, crib=crib):
            yield event


def _is_approval(payload: object) -> bool:
    """Only an explicit `true` approves."""
    if isinstance(payload, dict):
        return cast("dict[str, Any]", payload).get("approved") is True
    return payload is True


def _text(message: UserMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return " ".join(str(getattr(part, "text", "")) for part in message.content).strip()


async def _encode(run: LiveRun, request: RunAgentInput, ping_seconds: float) -> AsyncIterator[bytes]:
    encoder = EventEncoder()
    translation = Translation(request.thread_id, request.run_id)
    async for one in run.follow(ping_seconds=ping_seconds):
        if one is None:
            yield KEEPALIVE_COMMENT
            continue
        for event in translation.of(one.event):
            yield encoder.encode(event).encode()
    for event in translation.end():
        yield encoder.encode(event).encode()


class Translation:
    """Translates the events of one run to AG-UI events."""

    def __init__(self, thread: str, run: str) -> None:
        self._thread = thread
        self._run = run
        self._started = False
        self._message = ""  # the id of the open message; empty if there is none
        self._messages = 0
        self._open_calls: dict[str, str] = {}  # id: tool
        self._interrupts: list[Interrupt] = []
        self._failed: dict[str, Any] | None = None

    def of(self, event: dict[str, Any]) -> list[BaseEvent]:
        """The AG-UI events for one of our events."""
        if event["type"] == "text":
            return self._text_delta(event["delta"])
        return [*self._close_message(), *self._other(event)]

    def end(self) -> list[BaseEvent]:
        """The AG-UI events for the end of the run."""
        closed = self._close_message()
        if self._failed is None:
            outcome = RunFinishedInterruptOutcome(interrupts=self._interrupts) if self._interrupts else None
            return [*closed, RunFinishedEvent(thread_id=self._thread, run_id=self._run, outcome=outcome)]
        if self._failed == STOPPED.to_json():
            cancelled = RunFinishedCancelledOutcome()
            return [*closed, RunFinishedEvent(thread_id=self._thread, run_id=self._run, outcome=cancelled)]
        message = " ".join(filter(None, [self._failed["message"], self._failed["hint"]]))
        return [*closed, RunErrorEvent(message=message)]

    def _other(self, event: dict[str, Any]) -> list[BaseEvent]:
        match event["type"]:
            case "run_started":
                started, self._started = self._started, True
                return [] if started else [RunStartedEvent(thread_id=self._thread, run_id=self._run)]
            case "tool_started":
                return self._call(event)
            case "tool_finished":
                self._open_calls.pop(event["call_id"], None)
                message = f"{self._run}-{event['call_id']}"
                return [ToolCallResultEvent(message_id=message, tool_call_id=event["call_id"], content=event["text"])]
            case "confirmation_required":
                self._interrupts.append(self._interrupt(event))
            case "failed":
                self._failed = event
            case _:
                return [] if event["type"] == "answered" else [CustomEvent(name=event["type"], value=event)]
        return []

    def _call(self, event: dict[str, Any]) -> list[BaseEvent]:
        id = event["call_id"]
        self._open_calls[id] = event["name"]
        return [
            ToolCallStartEvent(tool_call_id=id, tool_call_name=event["name"]),
            ToolCallArgsEvent(tool_call_id=id, delta=json.dumps(event["arguments"], ensure_ascii=False)),
            ToolCallEndEvent(tool_call_id=id),
        ]

    def _interrupt(self, event: dict[str, Any]) -> Interrupt:
        tool = event["tool"]
        because = f", because {event['reason']}" if event["reason"] else ""
        arguments = json.dumps(event["arguments"], ensure_ascii=False)
        return Interrupt(
            id=event["id"],
            reason="confirmation",
            message=f"Call {tool} with {arguments}? It needs your confirmation{because}.",
            tool_call_id=next((id for id, name in reversed(self._open_calls.items()) if name == tool), None),
            response_schema=ANSWER,
            expires_at=event["expires_at"],
        )

    def _text_delta(self, delta: str) -> list[BaseEvent]:
        opened: list[BaseEvent] = []
        if not self._message:
            self._messages += 1
            self._message = f"{self._run}-text-{self._messages}"
            opened = [TextMessageStartEvent(message_id=self._message, role="assistant")]
        return [*opened, TextMessageContentEvent(message_id=self._message, delta=delta)]

    def _close_message(self) -> list[BaseEvent]:
        message, self._message = self._message, ""
        return [TextMessageEndEvent(message_id=message)] if message else []
