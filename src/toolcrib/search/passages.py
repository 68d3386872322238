"""The texts of a tool that get a vector each: a request has to be near one of them, not near their average."""

import re
from collections.abc import Mapping
from typing import Any, cast

from toolcrib.tools.tool import Tool

MAX_PASSAGES = 8  # bounds the memory a chatty catalogue takes; what a tool does stands in its first sentences
MIN_LETTERS = 8  # shorter pieces ("e.g.", "Yes") are near everything
WHOLE_CHARACTERS = 600
# A tool counts half as a whole and half by its nearest passage: the nearest alone favours tools with many passages.
WHOLE = 0.5

_BREAKS = re.compile(r"(?<=[.!?;:])\s+|\s*[;•\n\r。！？；]+\s*|\s+[-–—]\s+")


def passages(tool: Tool) -> list[str]:
    """The tool as a whole first, then its name, each phrase, and each sentence of its description."""
    return text_passages(
        tool.name, tool.description, tool.phrases, parameter_texts(tool.parameters), category=tool.category
    )


def text_passages(
    name: str,
    description: str,
    phrases: tuple[str, ...] = (),
    parameters: tuple[str, ...] = (),
    *,
    category: str = "",
) -> list[str]:
    """The same for a tool that is only texts."""
    whole = f"{name} {description}"[:WHOLE_CHARACTERS].strip()
    pieces = [piece for piece in _BREAKS.split(description[: 2 * WHOLE_CHARACTERS]) if len(piece) >= MIN_LETTERS]
    # One sentence is already the whole text.
    sentences = pieces if len(pieces) > 1 else []
    # People name the service they mean, which many tools of a server leave to their category ("alfresco" "get_node").
    # It stays out of the whole: there a field of knowledge would count more than what the tool does.
    called = f"{category} {name}".strip()
    inputs = [f"{called} {' '.join(parameters)}"[:WHOLE_CHARACTERS]] if parameters else []
    return list(dict.fromkeys([whole, *phrases, called, *inputs, *sentences]))[: max(MAX_PASSAGES, len(phrases) + 2)]


def parameter_texts(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Each parameter's name and description, as one text."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    return tuple(
        f"{name} {_description(details)}".strip() for name, details in cast("Mapping[str, object]", properties).items()
    )


def _description(details: object) -> str:
    if not isinstance(details, Mapping):
        return ""
    text = cast("Mapping[str, object]", details).get("description")
    return text if isinstance(text, str) else ""
