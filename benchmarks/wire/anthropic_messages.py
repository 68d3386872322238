"""A turn in the words of Anthropic's Messages API."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.wire.script import Turn

KINDS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


def reply(turn: Turn, number: int, request: Mapping[str, Any]) -> dict[str, Any]:
    """The reply in one piece. Arguments are an object on this wire, so broken ones can only be streamed."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": call.name, "input": json.loads(call.text)}
        for at, call in enumerate(turn.calls)
    ]
    return {
        **_head(turn, number, request),
        "content": blocks,
        "stop_reason": _stop(turn),
        "stop_sequence": None,
        "usage": _usage(turn, turn.output_tokens),
    }


def events(turn: Turn, number: int, request: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
    """The reply as a stream of typed events."""

    def event(kind: str, **content: Any) -> tuple[str, Any]:
        return kind, {"type": kind, **content}

    start = {**_head(turn, number, request), "content": [], "stop_reason": None, "stop_sequence": None}
    yield event("message_start", message={**start, "usage": _usage(turn, 0)})
    index = 0
    if turn.text:
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in turn.pieces:
            yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        yield event("content_block_stop", index=0)
        index = 1
    for at, call in enumerate(turn.calls):
        block = {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": call.name, "input": {}}
        yield event("content_block_start", index=index + at, content_block=block)
        for half in (call.text[: len(call.text) // 2], call.text[len(call.text) // 2 :]):
            delta = {"type": "input_json_delta", "partial_json": half}
            yield event("content_block_delta", index=index + at, delta=delta)
        yield event("content_block_stop", index=index + at)
    done = {"stop_reason": _stop(turn), "stop_sequence": None}
    yield event("message_delta", delta=done, usage={"output_tokens": turn.output_tokens})
    yield event("message_stop")


def error(status: int, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": KINDS.get(status, "api_error"), "message": message}}


def _head(turn: Turn, number: int, request: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": request["model"]}


def _stop(turn: Turn) -> str:
    return "tool_use" if turn.calls else "end_turn"


def _usage(turn: Turn, output_tokens: int) -> dict[str, int]:
    return {"input_tokens": turn.input_tokens, "output_tokens": output_tokens}
