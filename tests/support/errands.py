"""A user with errands, and a model that brings them to an end: it looks into the ledger when it cannot know."""

import re
from typing import Any

from pydantic_ai.messages import ModelMessage, ToolReturnPart

from toolcrib.stores.session import Session

TASK = re.compile(r"(order|refund) (\d+)")
TOOLS = {"order": "place_order", "refund": "refund_order"}
GO_ON, YES = "go on", "yes, please"


def decide(messages: list[ModelMessage]) -> str | tuple[str, dict[str, Any]]:
    """What the model says next: words, or a call."""
    heard = [
        part
        for message in messages
        for part in message.parts
        if part.part_kind in ("user-prompt", "tool-return", "retry-prompt")
    ]
    task, number = next(found for part in reversed(heard) if (found := _task(part)))
    last, text = heard[-1], text_of(heard[-1])
    if last.part_kind == "user-prompt":
        if text == GO_ON:
            return "check_ledger", {"done": task, "number": number}
        if text == YES:
            return TOOLS[task], {"number": number, "confirmed": True}
        return (TOOLS[task], {"number": number}) if TASK.fullmatch(text) else "As you like."
    if isinstance(last, ToolReturnPart) and "requires_confirmation" in text:
        return f"May I {task} {number}?"
    if f"{task} {number}: done" in text:
        return f"Done: {task} {number}."
    if f"{task} {number}: not yet" in text:
        return TOOLS[task], {"number": number}
    if "was not called" in text:
        return "It was not done."
    return "check_ledger", {"done": task, "number": number}


def parts_of(session: Session) -> list[dict[str, Any]]:
    """The parts of all messages of a session."""
    return [part for message in session.history for part in message["parts"]]


def is_last_word(message: dict[str, Any]) -> bool:
    """Whether nothing has to follow it."""
    return message["kind"] == "response" and all(part["part_kind"] == "text" for part in message["parts"])


def text_of(part: object) -> str:
    """What a part of a message says."""
    return part.model_response_str() if isinstance(part, ToolReturnPart) else str(getattr(part, "content", ""))


def _task(part: object) -> tuple[str, int] | None:
    found = TASK.fullmatch(text_of(part)) if getattr(part, "part_kind", "") == "user-prompt" else None
    return (found[1], int(found[2])) if found else None
