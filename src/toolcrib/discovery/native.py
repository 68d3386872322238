"""Tools in each provider's own form, ready for a request body; and its calls and their results, for loops of your own.

Anthropic: every tool is declared, most with `defer_loading`; a search answers with references. OpenAI Responses: a
`tool_search` that the client executes; a search answers with definitions, which the API appends to the context. Chat
Completions has neither: its list is what is visible. Where the provider allows it, a request's start stays equal
byte for byte when a tool is found: shown tools keep their order, tools held back are sorted by name.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from toolcrib.errors import NativeFormError
from toolcrib.tools.text import clean, clean_words
from toolcrib.tools.tool import Tool, safe_name

# JSON Schemas without the keywords that a model need not read: they cost tokens in every request.

_NULL = {"type": "null"}
# Under these keys stand names of the tool's own, each with a schema.
_NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
# Under these stand values, which calls repeat exactly, and no schemas.
_VALUES = frozenset({"enum", "const", "default", "examples", "required", "dependentRequired"})


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as a model needs it."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if _goes_without_saying(key, value):
            continue
        if key in _NAMED and isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            kept[key] = {name: _inner(one) for name, one in named.items()}
        else:
            kept[key] = value if key in _VALUES else _inner(value)
    return _without_null(kept)


def _goes_without_saying(key: str, value: object) -> bool:
    return (
        (key == "additionalProperties" and value is False)
        or (key in ("minLength", "minItems") and value == 1)
        or (key == "title" and isinstance(value, str))  # the name of the argument again, as pydantic writes it
    )


def _inner(value: Any) -> Any:
    if isinstance(value, Mapping):
        return compact_schema(cast("Mapping[str, Any]", value))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_inner(one) for one in cast("Sequence[Any]", value)]
    return value


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Of a value or null, where null is what leaving it out means: the value."""
    if "default" not in schema or schema["default"] is not None:
        return schema
    rest = {key: value for key, value in schema.items() if key != "default"}
    kinds = rest.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        others = [kind for kind in cast("list[str]", kinds) if kind != "null"]
        return rest | {"type": others[0] if len(others) == 1 else others} if others else schema
    choices = rest.pop("anyOf", None)
    if not isinstance(choices, list) or _NULL not in choices:
        return schema
    others = [choice for choice in cast("list[Any]", choices) if choice != _NULL]
    if len(others) == 1 and isinstance(others[0], dict):
        return {**others[0], **rest}  # what is said of the argument itself counts, where both say something
    return {"anyOf": others, **rest}


# One tool in a request to each provider

Wire: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic"]
WIRES: tuple[Wire, ...] = ("openai-chat", "openai-responses", "anthropic")
MOST_DESCRIPTION_CHARACTERS = 2_000  # more is no description; what to know for using a tool is in its protocol


def definition(tool: Tool, wire: Wire = "openai-chat") -> dict[str, Any]:
    """The tool as an entry of `tools` in a request, keys in a fixed order."""
    if wire == "anthropic":
        return {"name": tool.name, "description": description(tool), "input_schema": schema(tool.parameters)}
    function = {"name": tool.name, "description": description(tool), "parameters": schema(tool.parameters)}
    if wire == "openai-chat":
        return {"type": "function", "function": function}
    # Without the word, this API takes a schema as strict, and refuses one that leaves an argument optional.
    return {"type": "function", **function, "strict": False}


def description(tool: Tool) -> str:
    """What the tool says of itself, cleaned: it may come from a stranger, whatever source it names."""
    return clean(tool.description, MOST_DESCRIPTION_CHARACTERS)


def schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as providers want them: an object that names its properties, also when there are none.

    What the schema says to people is cleaned as well, and what goes without saying is left out; names, choices and
    defaults are exact, for calls repeat them.
    """
    empty: dict[str, Any] = {"type": "object", "properties": {}}
    return empty | compact_schema(clean_words(parameters))


Entry: TypeAlias = dict[str, Any]

MOST_IN_NAMESPACE = 9  # OpenAI: "fewer than 10 functions per namespace"
MOST_NAMESPACE_NAME = 64
MOST_NAMESPACE_DESCRIPTION = 1_024
OTHER_TOOLS = "other_tools"  # the namespace of tools without a category
# Names that OpenAI keeps for itself.
RESERVED_NAMESPACES = frozenset({
    "api_tool", "browser", "computer", "container", "file_search", "functions", "image_gen", "multi_tool_use", "python",
    "python_user_visible", "submodel_delegator", "terminal", "tool_search", "web",
})  # fmt: skip
NOTHING_FOUND = "No tool fits. Try other words."


def chat_tools(visible: Iterable[Tool]) -> list[Entry]:
    """`tools` of an OpenAI-compatible Chat Completions request: what is visible, in its order."""
    return [definition(tool, "openai-chat") for tool in _unique(visible)]


def anthropic_tools(visible: Iterable[Tool], deferred: Iterable[Tool] = ()) -> list[Entry]:
    """`tools` of an Anthropic request: the visible ones whole, then the others with `defer_loading`.

    A tool that a search finds keeps its place and its flag: the reference in the result is what shows it. So give the
    same `visible` (discovery tools and pinned ones) at each step of a session.
    """
    shown = _unique(visible)
    if not shown:
        raise NativeFormError(
            "Anthropic refuses a request whose tools are all deferred.", hint="Leave the search tool visible."
        )
    held_back = _held_back(shown, deferred)
    entries = [definition(tool, "anthropic") for tool in shown]
    return entries + [definition(tool, "anthropic") | {"defer_loading": True} for tool in held_back]


def anthropic_search_result(tool_use_id: str, names: Iterable[str], *, nothing: str = NOTHING_FOUND) -> Entry:
    """The `tool_result` of a search: a reference to each found tool, or a text, for it must not be empty.

    Every name must be among the request's tools; the API refuses references to others.
    """
    found: list[Entry] = [{"type": "tool_reference", "tool_name": name} for name in dict.fromkeys(names)]
    content = found or [{"type": "text", "text": nothing}]
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}


def responses_tools(search: Tool, visible: Iterable[Tool] = (), deferred: Iterable[Tool] = ()) -> list[Entry]:
    """`tools` of an OpenAI Responses request: `search` as the client's own `tool_search`, then the visible ones whole.

    Tools in `deferred` follow in namespaces by category: the model sees only what each namespace is about. Leave them
    out and the model knows of them nothing but what a search says, which is cheaper and grows with no catalog.
    """
    shown = [tool for tool in _unique(visible) if tool.name != search.name]
    return [
        {
            "type": "tool_search",
            "execution": "client",
            "description": search.description,
            "parameters": schema(search.parameters) | {"additionalProperties": False},
        },
        *(definition(tool, "openai-responses") for tool in shown),
        *namespaces(_held_back([search, *shown], deferred)),
    ]


def responses_search_output(call_id: str, tools: Iterable[Tool]) -> Entry:
    """The `tool_search_output` item of a search: the definitions of the tools it found, best first."""
    return {
        "type": "tool_search_output",
        "call_id": call_id,
        "execution": "client",
        "status": "completed",
        "tools": [definition(tool, "openai-responses") | {"defer_loading": True} for tool in _unique(tools)],
    }


def namespaces(tools: Iterable[Tool]) -> list[Entry]:
    """Tools by category, at most nine together, as `namespace` entries: `pages`, `pages_2`, ...

    Inside, tools keep their full names, so a call's name alone says which tool it means.
    """
    by_category: dict[str, list[Tool]] = {}
    for tool in sorted(tools, key=lambda tool: tool.name):
        by_category.setdefault(tool.category, []).append(tool)
    taken: set[str] = set()
    return [
        _namespace(_free_name(category, taken), category, part)
        for category in sorted(by_category)
        for part in _parts(by_category[category])
    ]


def _namespace(name: str, category: str, tools: Sequence[Tool]) -> Entry:
    about = clean(category, MOST_NAMESPACE_NAME) or "Other tools"
    listed = ", ".join(tool.name for tool in tools)
    return {
        "type": "namespace",
        "name": name,
        "description": clean(f"{about}: {listed}", MOST_NAMESPACE_DESCRIPTION),
        "tools": [definition(tool, "openai-responses") | {"defer_loading": True} for tool in tools],
    }


def _free_name(category: str, taken: set[str]) -> str:
    """A safe name for one more namespace of a category; `taken` remembers it."""
    base = safe_name(category) if category else OTHER_TOOLS
    base = f"{base}_tools" if base in RESERVED_NAMESPACES else base
    name, count = base, 1
    while name.casefold() in taken:
        count += 1
        ending = f"_{count}"
        name = f"{base[: MOST_NAMESPACE_NAME - len(ending)]}{ending}"
    taken.add(name.casefold())
    return name


def _parts(tools: Sequence[Tool]) -> Iterator[Sequence[Tool]]:
    for start in range(0, len(tools), MOST_IN_NAMESPACE):
        yield tools[start : start + MOST_IN_NAMESPACE]


def _held_back(shown: Iterable[Tool], deferred: Iterable[Tool]) -> list[Tool]:
    """The deferred tools that are not shown already, by name."""
    known = {tool.name for tool in shown}
    others: Mapping[str, Tool] = {tool.name: tool for tool in deferred if tool.name not in known}
    return [others[name] for name in sorted(others)]


def _unique(tools: Iterable[Tool]) -> list[Tool]:
    """Each tool once, where it stood first."""
    found: dict[str, Tool] = {}
    for tool in tools:
        found.setdefault(tool.name, tool)
    return list(found.values())


# A model's call as a provider's SDK gives it, and the message that answers it.

Form: TypeAlias = Literal["chat", "responses", "search", "anthropic", "langchain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call by the model, whatever form it came in: an object of a provider's SDK, or the same as a dictionary.

    An entry of `tool_calls` (OpenAI's Chat Completions), a `function_call` or `tool_search_call` item (OpenAI's
    Responses), a `tool_use` block (Anthropic), or a LangChain call.
    """

    form: Form
    id: str
    name: str  # empty for the API's own tool search
    arguments: object

    @classmethod
    def read(cls, call: object) -> "ModelCall":
        """A call in any of the forms."""
        kind = _get(call, "type")
        function = _get(call, "function")
        if function is not None:
            return _made("chat", _get(call, "id"), _get(function, "name"), _get(function, "arguments"))
        if kind == "function_call":
            return _made("responses", _get(call, "call_id"), _get(call, "name"), _get(call, "arguments"))
        if kind == "tool_search_call":
            return _made("search", _get(call, "call_id"), "", _get(call, "arguments"))
        if kind == "tool_use":
            return _made("anthropic", _get(call, "id"), _get(call, "name"), _get(call, "input"))
        if _get(call, "args") is not None:
            return _made("langchain", _get(call, "id"), _get(call, "name"), _get(call, "args"))
        raise NativeFormError(
            f"{call!r:.100} is no call of a tool.",
            hint="Give an entry of `tool_calls`, an item `function_call`, or a block `tool_use`.",
        )

    def answer(self, text: str, *, failed: bool) -> dict[str, Any]:
        """The message, item or block that answers it."""
        if self.form == "responses":
            return {"type": "function_call_output", "call_id": self.id, "output": text}
        if self.form == "anthropic":
            return {"type": "tool_result", "tool_use_id": self.id, "content": text, "is_error": failed}
        answer = {"role": "tool", "tool_call_id": self.id, "content": text}
        return {**answer, "status": "error" if failed else "success"} if self.form == "langchain" else answer


def _made(form: Form, id: object, name: object, arguments: object) -> ModelCall:
    if isinstance(arguments, str):
        with suppress(ValueError):  # the toolbox says what it should be
            arguments = json.loads(arguments or "{}")
    return ModelCall(form=form, id=str(id or ""), name=str(name or ""), arguments=arguments)


def _get(value: object, key: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(key)
    return getattr(value, key, None)
