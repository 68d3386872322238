"""A turn in the words of OpenAI's Responses API, with its own `tool_search` where the request offers one."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.wire.openai_chat import error as error  # both APIs complain alike
from benchmarks.wire.script import Call, Turn

TOOL_SEARCH = "tool_search"


def reply(turn: Turn, number: int, request: Mapping[str, Any]) -> dict[str, Any]:
    """The reply in one piece."""
    return _response(turn, number, request, "completed", _items(turn, number, request))


def events(turn: Turn, number: int, request: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
    """The reply as a stream of typed events."""
    sent = 0

    def event(kind: str, **content: Any) -> tuple[str, Any]:
        nonlocal sent
        sent += 1
        return kind, {"type": kind, "sequence_number": sent - 1, **content}

    yield event("response.created", response=_response(turn, number, request, "in_progress", []))
    items = _items(turn, number, request)
    for index, item in enumerate(items):
        at = {"output_index": index, "item_id": item["id"]}
        yield event("response.output_item.added", output_index=index, item=_opened(item))
        if item["type"] == "message":
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            yield event("response.content_part.added", **at, content_index=0, part=part)
            for piece in turn.pieces:
                yield event("response.output_text.delta", **at, content_index=0, delta=piece, logprobs=[])
            yield event("response.output_text.done", **at, content_index=0, text=turn.text, logprobs=[])
            yield event("response.content_part.done", **at, content_index=0, part={**part, "text": turn.text})
        elif item["type"] == "function_call":
            text, name = item["arguments"], item["name"]
            for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                yield event("response.function_call_arguments.delta", **at, delta=half)
            yield event("response.function_call_arguments.done", **at, name=name, arguments=text)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=_response(turn, number, request, "completed", items))


def _response(
    turn: Turn, number: int, request: Mapping[str, Any], status: str, output: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": request["model"],
        "status": status,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": _usage(turn) if status == "completed" else None,
    }


def _items(turn: Turn, number: int, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}]
        items.append(
            {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    native = any(tool.get("type") == TOOL_SEARCH for tool in request.get("tools") or ())
    return items + [_call(call, f"{number}_{at}", native=native) for at, call in enumerate(turn.calls)]


def _call(call: Call, number: str, *, native: bool) -> dict[str, Any]:
    if native and call.name == TOOL_SEARCH:
        return {
            "id": f"ts_{number}",
            "type": "tool_search_call",
            "call_id": f"call_{number}",
            "arguments": json.loads(call.text),
            "execution": "client",
            "status": "completed",
        }
    return {
        "id": f"fc_{number}",
        "type": "function_call",
        "call_id": f"call_{number}",
        "name": call.name,
        "arguments": call.text,
        "status": "completed",
    }


def _opened(item: dict[str, Any]) -> dict[str, Any]:
    """An item at its start: nothing in it yet."""
    empty: dict[str, Any] = {"status": "in_progress"}
    if item["type"] == "message":
        empty["content"] = []
    elif item["type"] == "function_call":
        empty["arguments"] = ""
    return {**item, **empty}


def _usage(turn: Turn) -> dict[str, Any]:
    return {
        "input_tokens": turn.input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": turn.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }
