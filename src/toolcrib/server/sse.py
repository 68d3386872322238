"""Events on the wire: server-sent events, one for each thing that happens."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event

from toolcrib.server.live_run import LiveRun, Numbered
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


def event_stream(
    run: LiveRun | None, earlier: Sequence[Numbered] = (), *, after: int = -1, ping_seconds: float
) -> EventSourceResponse:
    """Earlier events, then those of a run as they happen. When the client goes, only the listening ends."""
    return EventSourceResponse(_lines(run, earlier, after, ping_seconds), headers=_HEADERS)


async def _lines(
    run: LiveRun | None, earlier: Sequence[Numbered], after: int, ping_seconds: float
) -> AsyncIterator[bytes]:
    for one in earlier:
        yield line(one)
    if run is not None:
        following: AsyncGenerator[Numbered | None] = run.follow(after, ping_seconds=ping_seconds)
        async for one in following:
            yield KEEPALIVE_COMMENT if one is None else line(one)


def line(one: Numbered) -> bytes:
    """One event as it is sent."""
    data = json.dumps(one.event, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return format_sse_event(data_str=data, event=one.event["type"], id=str(one.number))
