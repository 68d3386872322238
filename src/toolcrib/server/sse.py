"""Events on the wire: server-sent events, one for each thing that happens."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event

from toolcrib.server.live_run import Numbered
from toolcrib.server.shapes import Responses

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
