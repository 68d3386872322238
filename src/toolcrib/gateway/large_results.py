"""Results that are too long for a model: their beginning is returned, and the whole is kept for `read_result`.

Data keeps its structure: a preview with the same keys, whose lists and texts are short, and a path by which the rest is
read. Pictures, sounds and files stay as they are.
"""

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

import mcp_types

from toolcrib.discovery.surfaces.display import SOURCE
from toolcrib.gateway.limits import GatewayLimits
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.text import clean
from toolcrib.tools.tool import Tool

_CUT_TOLERANCE_CHARACTERS = 300  # the line that says how to read on takes about as many
_MOST_PLACES = 5  # of a preview that its note names
_MOST_PATH_CHARACTERS = 100
READ_RESULT = "read_result"  # without `__`, so no server's tool can have this name
NO_PATH = "There is nothing at {path!r} of this result. Paths are such as /items/3/name."


class Caller(Protocol):
    """Who makes a call."""

    @property
    def name(self) -> str: ...


class _Kept(NamedTuple):
    """A long result."""

    caller: str
    text: str
    data: object  # None: it has none


class LargeResults:
    """The latest long results, each readable only by its own caller. The oldest are dropped when there are too many."""

    def __init__(self, limits: GatewayLimits) -> None:
        self._most = limits.result_characters
        self._most_kept = limits.kept_results_characters
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # by handle
        self._size = 0

    def fit(self, result: mcp_types.CallToolResult, caller: str) -> mcp_types.CallToolResult:
        """The unchanged result if it is short enough; otherwise its beginning, with a handle to read on."""
        text = "\n\n".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))
        structured = result.structured_content
        data = as_json(structured) if structured is not None else ""
        most = self._most + _CUT_TOLERANCE_CHARACTERS
        if len(text) <= most and len(data) <= most:
            return result
        handle = self._keep(_Kept(caller, text or data, structured))
        shown, places = preview(structured, self._most) if len(data) > most else (structured, [])
        notes: list[str] = []
        if len(text) > most:
            notes.append(self._position_note(handle, "", 0, len(text)))
            text = text[: self._most]
        if places:
            notes.append(_preview_note(handle, places))
        elif shown is None and structured is not None:
            text = text or data[: self._most]  # too many keys for any preview
            notes = notes or [self._position_note(handle, "", 0, len(data))]
        first = mcp_types.TextContent(type="text", text="\n\n".join(filter(None, (text, *notes))))
        kept = [block for block in result.content if not isinstance(block, mcp_types.TextContent)]
        return result.model_copy(update={"content": [first, *kept], "structured_content": shown})

    def __contains__(self, handle: object) -> bool:
        """Whether the result with this handle is still kept."""
        return handle in self._kept

    def tool(self) -> Tool:
        """The tool that reads further in a cut result."""

        async def read(arguments: Mapping[str, object], context: object = None, /) -> ToolResult:
            caller = cast("Caller", context).name
            handle, start = str(arguments["handle"]), max(0, cast("int", arguments.get("start", 0)))
            path = str(arguments.get("path") or "")
            kept = self._kept.get(handle)
            if kept is None or kept.caller != caller:
                return ToolResult.failure(f"There is no result {handle!r} any more. Call its tool again.")
            text = kept.text
            if path:
                try:
                    text = as_json(at_path(kept.data, path))
                except LookupError:
                    return ToolResult.failure(NO_PATH.format(path=path[:200]))
            if start >= len(text):
                return ToolResult.failure(f"The result ends at {len(text):,} characters.")
            note = self._position_note(handle, path, start, len(text))
            return ToolResult(text="\n\n".join(filter(None, (text[start : start + self._most], note))))

        return Tool(
            name=READ_RESULT,
            description="Read on in a long result that was cut.",
            parameters={
                "type": "object",
                "properties": {
                    "handle": {"type": "string", "description": "As the cut result names it"},
                    "path": {"type": "string", "description": "A part of its data, such as /items/3"},
                    "start": {"type": "integer", "description": "Characters to skip"},
                },
                "required": ["handle"],
            },
            call=read,
            category="results",
            source=SOURCE,
        )

    def _position_note(self, handle: str, path: str, start: int, length: int) -> str:
        end = start + self._most
        if end >= length:
            return ""
        at = f'"path": "{path}", ' if path else ""
        return (
            f"(Characters {start + 1:,} to {end:,} of {length:,}. "
            f'To read on, call {READ_RESULT} with {{"handle": "{handle}", {at}"start": {end}}}.)'
        )

    def _keep(self, kept: _Kept) -> str:
        handle = f"r-{secrets.token_hex(8)}"
        self._kept[handle] = kept
        self._size += len(kept.text)
        while self._size > self._most_kept and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest.text)
        return handle


# Previews of data.

_SIZES = ((100, 4_000), (30, 1_000), (10, 300), (5, 100), (3, 40), (1, 20))  # of a list, of a text


class Cut(NamedTuple):
    """A list or text of which a preview has the beginning."""

    path: str
    shown: int
    whole: int


def preview(data: object, most: int) -> tuple[Any, list[Cut]]:
    """Data with the same keys whose lists and texts are so short that it fits, and what was cut; None if nothing is."""
    for items, characters in _SIZES:
        cuts: list[Cut] = []
        shown = _shortened(data, "", items, characters, cuts)
        if cuts and len(as_json(shown)) <= most:
            return shown, cuts
    return None, []


def _shortened(data: object, path: str, items: int, characters: int, cuts: list[Cut]) -> Any:
    if isinstance(data, str):
        if len(data) > characters:
            cuts.append(Cut(path, characters, len(data)))
        return data[:characters]
    if isinstance(data, Mapping):
        pairs = cast("Mapping[str, object]", data).items()
        return {key: _shortened(value, f"{path}/{_escaped(key)}", items, characters, cuts) for key, value in pairs}
    if isinstance(data, list):
        values = cast("list[object]", data)
        if len(values) > items:
            cuts.append(Cut(path, items, len(values)))
        return [_shortened(one, f"{path}/{place}", items, characters, cuts) for place, one in enumerate(values[:items])]
    return data


def _preview_note(handle: str, cuts: Sequence[Cut]) -> str:
    largest = sorted(cuts, key=lambda cut: -cut.whole)[:_MOST_PLACES]
    named = ", ".join(
        f"{clean(cut.path, _MOST_PATH_CHARACTERS) or '/'} ({cut.shown:,} of {cut.whole:,})" for cut in largest
    )
    more = f" and {len(cuts) - len(largest):,} more" if len(cuts) > len(largest) else ""
    plain = (
        cut.path for cut in largest if clean(cut.path, _MOST_PATH_CHARACTERS) == cut.path
    )  # keys are of the server
    example = as_json({"handle": handle, "path": next(plain, "/...")})
    return f"(The data are a preview; cut are {named}{more}. To read a part whole, call {READ_RESULT} with {example}.)"


def at_path(data: object, path: str) -> object:
    """The part of data at a JSON pointer. Raises `LookupError` if there is none."""
    for part in path.removeprefix("/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(data, Mapping):
            data = cast("Mapping[str, object]", data)[key]
        elif isinstance(data, list) and key.isdecimal():
            data = cast("list[object]", data)[int(key[:9])]
        else:
            raise LookupError(path)
    return data


def _escaped(key: str) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")
