"""A turn in the words of OpenAI's Chat Completions, which most other providers speak too."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.wire.script import Turn


def reply(turn: Turn, number: int, request: Mapping[str, Any]) -> dict[str, Any]:
    """The reply in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = _calls(turn, number)
    choice = {"index": 0, "finish_reason": _finish(turn), "message": message}
    return {**_head(number, request, "chat.completion"), "choices": [choice], "usage": _usage(turn)}


def events(turn: Turn, number: int, request: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
    """The reply as a stream: a delta for each word, the arguments of a call in two halves."""
    head = _head(number, request, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> tuple[None, Any]:
        return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in turn.pieces:
        yield chunk({"content": piece})
    for index, call in enumerate(_calls(turn, number)):
        text = call["function"]["arguments"]
        opened = {**call, "function": {**call["function"], "arguments": ""}}
        yield chunk({"tool_calls": [{"index": index, **opened}]})
        for half in (text[: len(text) // 2], text[len(text) // 2 :]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": half}}]})
    yield chunk({}, _finish(turn))
    if (request.get("stream_options") or {}).get("include_usage"):
        yield None, {**head, "choices": [], "usage": _usage(turn)}
    yield None, "[DONE]"


def error(status: int, message: str) -> dict[str, Any]:
    kind = "rate_limit_exceeded" if status == 429 else "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _head(number: int, request: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 1_700_000_000, "model": request["model"]}


def _calls(turn: Turn, number: int) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{number}_{at}", "type": "function", "function": {"name": call.name, "arguments": call.text}}
        for at, call in enumerate(turn.calls)
    ]


def _finish(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"


def _usage(turn: Turn) -> dict[str, Any]:
    return {
        "prompt_tokens": turn.input_tokens,
        "completion_tokens": turn.output_tokens,
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }
