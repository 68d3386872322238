"""Everything a model reads about tools, in one voice: short, imperative, the same shape everywhere.

Pure functions from values to text. Which tools may be shown is decided by the caller; what they say of themselves is
cleaned here (`tools/text.py`). Each text has a snapshot test with its token count: every call pays for it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from toolcrib.tools.result import ToolResult
from toolcrib.tools.text import ELLIPSIS, clean, clean_json, clean_schema, first_sentence
from toolcrib.tools.tool import Protocol, Risk, Tool, dotted_name

# Refusals: what a model reads when a call does not happen

_MOST_NAME_CHARACTERS = 80
_MOST_ERROR_CHARACTERS = 2_000
_FEW_NAMES = 1_000
_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}|[^\W_a-zA-Z]{2,}")  # the parts of snake_case and camelCase names


def unknown(name: object, known: Iterable[Tool], finder: str | None) -> ToolResult:
    """There is no such tool, as far as the caller may know."""
    given, tools = str(name)[:_MOST_NAME_CHARACTERS], list(known)
    spelled = {dotted_name(tool): tool.name for tool in tools} if "." in given else {}
    spelled |= {tool.name: tool.name for tool in tools}
    near = _nearest(given, spelled)
    advice = f"Did you mean {near!r}?" if near else f"Find the right one with {finder}." if finder else ""
    return ToolResult.failure(f"There is no tool named {given!r}. {advice}".rstrip())


def _nearest(given: str, spelled: Mapping[str, str]) -> str | None:
    """The name that is spelled most like it, if any is near."""
    folded = {spelling.casefold(): name for spelling, name in spelled.items()}
    near = get_close_matches(given.casefold(), _like(given, list(folded)), n=1)
    return folded[near[0]] if near else None


def _like(given: str, known: list[str]) -> list[str]:
    """The names worth comparing: comparing one with ten thousand takes a tenth of a second, and blocks all others."""
    if len(known) <= _FEW_NAMES:
        return known
    beginnings = {word[:4].casefold() for word in _WORD.findall(given)}
    shared = [sum(beginning in name.casefold() for beginning in beginnings) for name in known]
    most = max(shared)
    return [name for name, count in zip(known, shared, strict=True) if count == most]


def denied(name: str, reason: str) -> ToolResult:
    """The caller may know of the tool, but not use it."""
    return ToolResult.failure(f"{name} is not allowed, because {reason}. Do not try again; tell the user.")


def inactive(name: str, finder: str | None) -> ToolResult:
    """The tool exists, and has to be activated first."""
    how = f"Ask {finder} for it first" if finder else "Activate it first"
    return ToolResult.failure(f"{name} is not active. {how}, then call it.")


def other_approval(name: str) -> ToolResult:
    """The user's yes was for something else."""
    return ToolResult.failure(f"{name} was not called: the user agreed to another call. Ask them about this one.")


def timed_out(name: str, seconds: float) -> ToolResult:
    """The tool took too long."""
    return ToolResult.failure(
        f"{name} gave no answer within {seconds:g} seconds. It may have had an effect: check before you call it again."
    )


def broken(name: str, error: BaseException) -> ToolResult:
    """The tool, or its source, raised."""
    what = ": ".join(part for part in (type(error).__name__, str(error)) if part)
    return ToolResult.failure(f"{name} failed: {what[:_MOST_ERROR_CHARACTERS]}")


# Signatures: a tool's arguments on one line, `cms_getPage(slug: str, includeContent: bool = false)`

MOST_CHARACTERS = 200
MOST_CALL_CHARACTERS = 80
MOST_VALUES = 6  # of an enum
MOST_VALUE_CHARACTERS = 24
MOST_NAME_CHARACTERS = 48
_MOST_LEVELS = 3  # of references and lists inside lists

_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "null",
}
_PLAIN_NAME = re.compile(r"[\w$.\-\[\]]+", re.ASCII)


def signature(tool: Tool) -> str:
    """Name and arguments; `?` marks an argument that can be left out and has no default."""
    required, optional = _arguments(tool.parameters)
    return f"{tool.name}({_joined(required, optional, MOST_CHARACTERS - len(tool.name) - 2)})"


def call_form(tool: Tool) -> str:
    """Name and names of arguments alone, for a model that sees the definition, too."""
    needed = tool.parameters.get("required") or ()
    names = [_spelled(name) + ("" if name in needed else "?") for name in _mapping(tool.parameters.get("properties"))]
    required = [name for name in names if not name.endswith("?")]
    optional = [name for name in names if name.endswith("?")]
    return f"{tool.name}({_joined(required, optional, MOST_CALL_CHARACTERS - len(tool.name) - 2)})"


def _arguments(parameters: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    needed = parameters.get("required")
    names = set(cast("Iterable[object]", needed)) if isinstance(needed, list | tuple) else set[object]()
    properties = parameters.get("properties")
    required: list[str] = []
    optional: list[str] = []
    for name, schema in _mapping(properties).items():
        (required if name in names else optional).append(_argument(name, schema, name in names, parameters))
    return required, optional


def _argument(name: str, schema: object, required: bool, whole: Mapping[str, Any]) -> str:
    spelled = _spelled(name)
    kind = _kind(schema, whole, _MOST_LEVELS)
    default = _mapping(schema).get("default")
    if required or default is None:
        return f"{spelled}{'' if required else '?'}: {kind}"
    return f"{spelled}: {kind} = {_value(default)}"


def _spelled(name: str) -> str:
    spelled = name if _PLAIN_NAME.fullmatch(name) else clean_json(name)
    return spelled if len(spelled) <= MOST_NAME_CHARACTERS else spelled[:MOST_NAME_CHARACTERS] + ELLIPSIS


def _joined(required: Sequence[str], optional: Sequence[str], room: int) -> str:
    """As many as fit, the required ones first; at least one, so that the line never says that there are none."""
    arguments = [*required, *optional]
    kept: list[str] = []
    for argument in arguments:
        if kept and len(", ".join([*kept, argument])) > room - len(", ...") * (len(kept) + 1 < len(arguments)):
            return ", ".join([*kept, "..."])
        kept.append(argument)
    return ", ".join(kept)


def _kind(schema: object, whole: Mapping[str, Any], levels: int) -> str:
    known = _mapping(_resolved(schema, whole))
    if not levels or not known:
        return "any"
    if "const" in known:
        return _value(known["const"])
    if isinstance(values := known.get("enum"), list | tuple) and values:
        return _alternatives(_value(value) for value in cast("Sequence[object]", values) if value is not None)
    for key in ("anyOf", "oneOf"):
        if isinstance(branches := known.get(key), list | tuple):
            return _alternatives(_kind(branch, whole, levels - 1) for branch in cast("Sequence[object]", branches))
    if isinstance(merged := known.get("allOf"), list | tuple) and merged:
        return _kind(cast("Sequence[object]", merged)[0], whole, levels - 1)
    kinds = known.get("type")
    if isinstance(kinds, list | tuple):
        return _alternatives(_named(kind, known, whole, levels) for kind in cast("Sequence[object]", kinds))
    return _named(kinds, known, whole, levels)


def _named(kind: object, schema: Mapping[str, Any], whole: Mapping[str, Any], levels: int) -> str:
    if kind == "array" and "items" in schema:
        return f"list[{_kind(schema['items'], whole, levels - 1)}]"
    if kind is None and "properties" in schema:
        return "dict"
    return _TYPES.get(kind, "any") if isinstance(kind, str) else "any"


def _alternatives(kinds: Iterable[str]) -> str:
    """`"a"|"b"`; that an argument may be null says nothing that its `?` does not."""
    shown = [kind for kind in dict.fromkeys(kinds) if kind != "null"]
    if "any" in shown or not shown:
        return "any"
    more = [ELLIPSIS] if len(shown) > MOST_VALUES else []
    return "|".join([*shown[:MOST_VALUES], *more])


def _resolved(schema: object, whole: Mapping[str, Any]) -> object:
    """What a reference inside the same document points to; one step, because `_kind` counts the steps."""
    reference = _mapping(schema).get("$ref")
    if not isinstance(reference, str):
        return schema
    target: object = whole
    for step in reference.removeprefix("#/").split("/"):
        target = _mapping(target).get(step)
    inner = _mapping(target)
    return {"anyOf": [inner]} if "$ref" in inner else inner


def _value(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(clean(value, MOST_VALUE_CHARACTERS), ensure_ascii=False)
    text = clean_json(value)
    return text if len(text) <= MOST_VALUE_CHARACTERS else f"{text[0]}{ELLIPSIS}{text[-1]}"


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


# Lines and specifications

MOST_LINE_CHARACTERS = 100
MOST_SHORT_LINE_CHARACTERS = 50
MOST_DESCRIPTION_CHARACTERS = 1_000
MOST_NOTE_CHARACTERS = 500  # of one note of a protocol
MOST_SCHEMA_CHARACTERS = 12_000  # some 3,000 tokens; beyond, the schema loses its descriptions, then its end
MOST_LABEL_CHARACTERS = 40  # of a category or a source
MOST_QUOTED_CHARACTERS = 60  # of the model's own words


def one_line(tool: Tool) -> str:
    """The first sentence of a tool's description, cut to about a hundred characters."""
    description = clean(tool.description, MOST_DESCRIPTION_CHARACTERS)
    return clean(first_sentence(description), MOST_LINE_CHARACTERS)


def marks(*notes: str) -> str:
    """What to know before calling, such as ` [destructive, asks the user]`; empty if there is nothing."""
    known = [word for word in notes if word and word != Risk.SAFE]
    return f" [{', '.join(known)}]" if known else ""


def name_line(tool: Tool) -> str:
    """`name: one line`."""
    return _with_words(tool.name, tool)


def signature_line(tool: Tool, *notes: str) -> str:
    """`name(arguments) [what to know]: one line`; without `notes` that is the risk, unless it is safe."""
    return _with_words(f"{signature(tool)}{marks(*(notes or (tool.risk,)))}", tool)


def short_line(tool: Tool, *notes: str) -> str:
    """`name(arguments) [what to know]: a few words`, where the whole definition follows by itself."""
    words = clean(first_sentence(clean(tool.description, MOST_DESCRIPTION_CHARACTERS)), MOST_SHORT_LINE_CHARACTERS)
    head = f"{call_form(tool)}{marks(*(notes or (tool.risk,)))}"
    return f"{head}: {words}" if words else head


def compact_list(tools: Iterable[Tool]) -> str:
    """Every tool as `name: one line`: the list in the prompt of compact mode."""
    return "\n".join(map(name_line, tools))


def tool_list(lines: Iterable[str]) -> str:
    """Lines as a list."""
    return "\n".join(f"- {line}" for line in lines)


def specification(tool: Tool, *notes: str, companions: Sequence[str] = ()) -> str:
    """All there is to know for calling a tool: what it does, its schema, its protocol, what it goes with."""
    description = clean(tool.description, MOST_DESCRIPTION_CHARACTERS)
    head = f"{tool.name}{marks(*(notes or (tool.risk,)))}"
    lines = [f"{head}: {description}" if description else head, f"Arguments: {schema_text(tool.parameters)}"]
    lines += protocol_lines(tool.protocol)
    if companions:
        lines.append(f"Often used with: {', '.join(companions)}")
    return "\n".join(lines)


def protocol_lines(protocol: Protocol | None) -> list[str]:
    """The notes of a protocol, one line each."""
    if protocol is None:
        return []
    labelled = (
        ("BEFORE", protocol.before),
        ("AFTER", protocol.after),
        ("NEXT", protocol.next),
        ("GOTCHA", protocol.gotcha),
    )
    cleaned = ((label, clean(text, MOST_NOTE_CHARACTERS)) for label, text in labelled)
    return [f"{label}: {text}" for label, text in cleaned if text]


def schema_text(parameters: Mapping[str, object]) -> str:
    """A JSON Schema as a model reads it, of a length that fits."""
    if not parameters.get("properties"):
        return "none"
    text = clean_schema(parameters)
    if len(text) > MOST_SCHEMA_CHARACTERS:
        text = clean_schema(parameters, words=False)
    if len(text) > MOST_SCHEMA_CHARACTERS:
        return f"{text[:MOST_SCHEMA_CHARACTERS]}{ELLIPSIS} (shortened)"
    return text


def label(text: str) -> str:
    """The name of a category or a source, as models see and write it."""
    return clean(text, MOST_LABEL_CHARACTERS)


def quoted(text: str) -> str:
    """A model's own words, quoted to it: short, and in quotation marks that it cannot close."""
    return '"' + clean(text, MOST_QUOTED_CHARACTERS).replace('"', "'") + '"'


def _with_words(head: str, tool: Tool) -> str:
    words = one_line(tool)
    return f"{head}: {words}" if words else head
