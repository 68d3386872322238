"""Values at the border of a program: what it gets of a tool's result, and what the model reads of its own."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from toolcrib.discovery.confirmation import shorten
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.tokens import count_tokens
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.schema import mapping
from toolcrib.tools.tool import Tool

MOST_CALL_CHARACTERS = 160  # of a call in a list of those that were made


def shown_call(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call on one line: `cms_deletePage(page="p1")`."""
    given = ", ".join(f"{key}={as_json(value)}" for key, value in arguments.items())
    return f"{tool}({shorten(given, MOST_CALL_CHARACTERS, 'cut')})"


def beginning(text: str, tokens: int) -> str:
    """As much of the beginning of a text as fits into so many tokens."""
    characters = min(len(text), 8 * tokens)
    while characters and (counted := count_tokens(text[:characters])) > tokens:
        characters = min(characters - 1, characters * tokens // counted)
    return text[:characters]


def value_of(result: ToolResult, tool: Tool | None) -> Any:
    """What a program gets of a result: data where there is data, else text."""
    value: object = result.value
    content = getattr(value, "structured_content", None)
    if content is not None:  # of an MCP server
        wrapped = tool is not None and mapping(tool.output_schema).get("x-fastmcp-wrap-result") is True
        value = mapping(content).get("result", content) if wrapped else content
    elif hasattr(value, "structured_content"):
        return _parsed(result.text)
    elif result.native is not None or isinstance(value, Discovered) or (value is None and result.text != "null"):
        return result.text
    return json.loads(as_json(value))


def _parsed(text: str) -> Any:
    """Text of a server that is JSON, read; other text as it is."""
    if text.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text
