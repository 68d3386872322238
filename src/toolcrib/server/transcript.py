"""The conversation as a page shows it, from the messages as the agent keeps them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from toolcrib.server.shapes import Message
from toolcrib.tools.result import as_json


def transcript(history: Sequence[Any]) -> list[Message]:
    """What was said and done, in order; a call and its result are one."""
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


def _arguments(said: object) -> Any:
    """As a model wrote them: most providers send text."""
    if not isinstance(said, str):
        return said
    try:
        return json.loads(said)
    except ValueError:
        return said
