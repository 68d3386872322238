"""Answers that are too long for a model to read at once: the beginning goes out, the rest is kept to be read on."""

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Protocol, cast

import mcp_types

from toolcrib.discovery.display import SOURCE
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.tool import Tool

MOST_CHARACTERS = 50_000  # of one answer, some 12,000 tokens
_MOST_KEPT_CHARACTERS = 64_000_000
_NOT_WORTH_CUTTING = 300  # characters more: the line that says how to read on takes as many
READ_RESULT = "read_result"  # has no `__`, so it is the name of no server's tool


class Caller(Protocol):
    """Whose call it is."""

    @property
    def name(self) -> str: ...


class LargeResults:
    """The long answers of late, each for its own caller; the oldest go when there are too many."""

    def __init__(
        self, most_characters: int = MOST_CHARACTERS, most_kept_characters: int = _MOST_KEPT_CHARACTERS
    ) -> None:
        self._most = most_characters
        self._most_kept = most_kept_characters
        self._kept: OrderedDict[str, tuple[str, str]] = OrderedDict()  # by handle: caller and text
        self._size = 0

    def fit(self, result: mcp_types.CallToolResult, caller: str) -> mcp_types.CallToolResult:
        """The answer untouched if it fits; else its beginning, with a handle to read on."""
        text = "\n\n".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))
        structured = result.structured_content
        data = as_json(structured) if structured is not None else ""
        most = self._most + _NOT_WORTH_CUTTING
        if len(text) <= most and len(data) <= most:
            return result
        whole = text if len(text) > most else data  # the text says the same, by the protocol's own advice
        kept = [block for block in result.content if not isinstance(block, mcp_types.TextContent)]
        handle = self._keep(whole, caller)
        said = f"{whole[: self._most]}\n\n{self._place(handle, 0, len(whole))}"
        first = mcp_types.TextContent(type="text", text=said)
        return result.model_copy(update={"content": [first, *kept], "structured_content": None})

    def __contains__(self, handle: object) -> bool:
        """Whether there is still something to read."""
        return handle in self._kept

    def tool(self) -> Tool:
        """The tool that reads on."""

        async def read(arguments: Mapping[str, object], context: object = None, /) -> ToolResult:
            caller = cast("Caller", context).name
            handle, start = str(arguments["handle"]), max(0, cast("int", arguments.get("start", 0)))
            owner, text = self._kept.get(handle, ("", ""))
            if owner != caller or not text:
                return ToolResult.failure(f"There is no result {handle!r} any more. Call its tool again.")
            if start >= len(text):
                return ToolResult.failure(f"The result ends at {len(text):,} characters.")
            place = self._place(handle, start, len(text))
            return ToolResult(text="\n\n".join(filter(None, (text[start : start + self._most], place))))

        return Tool(
            name=READ_RESULT,
            description="Read on in a long result that was cut.",
            parameters={
                "type": "object",
                "properties": {
                    "handle": {"type": "string", "description": "As the cut result names it"},
                    "start": {"type": "integer", "description": "Characters to skip"},
                },
                "required": ["handle"],
            },
            call=read,
            category="results",
            source=SOURCE,
        )

    def _place(self, handle: str, start: int, length: int) -> str:
        end = start + self._most
        if end >= length:
            return ""
        return (
            f"(Characters {start + 1:,} to {end:,} of {length:,}. "
            f'To read on, call {READ_RESULT} with {{"handle": "{handle}", "start": {end}}}.)'
        )

    def _keep(self, text: str, caller: str) -> str:
        handle = f"r-{secrets.token_hex(8)}"
        self._kept[handle] = caller, text
        self._size += len(text)
        while self._size > self._most_kept and len(self._kept) > 1:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._size -= len(oldest)
        return handle
