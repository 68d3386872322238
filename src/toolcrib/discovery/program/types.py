"""Tools as Python functions: signatures for the model, stubs for the type check, names and arguments back to tools.

A stub says no more than is sure. Where a schema is missing or says nothing, the type is `Any`: the type check is there
to spare the model a program that stops half-way, not to refuse one that would have run.
"""

import builtins
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from toolcrib.discovery.render import marks, one_line
from toolcrib.tools.call import FunctionCall, output_schema
from toolcrib.tools.schema import mapping
from toolcrib.tools.text import clean
from toolcrib.tools.tool import Tool

ERRORS = {"ToolError": "RuntimeError", "Denied": "PermissionError"}  # as the sandbox knows them
MOST_SHAPE_CHARACTERS = 200
MOST_SIGNATURE_CHARACTERS = 400
_MOST_VALUES = 8  # of an enum
_MOST_UNION = 5
_MOST_LEVELS = 6
_MOST_KEYS = 40
_MOST_LEARNED_KEYS = 16
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TAKEN = {*dir(builtins), *keyword.kwlist, *keyword.softkwlist, *ERRORS}
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}

# What Monty runs and its type check does not know.
_HEAD = """from typing import Any, Literal, Mapping, NotRequired, Sequence, TypedDict
ToolError = RuntimeError
Denied = PermissionError
async def tool_search(query: str, limit: int = 8) -> str: ...
def getattr(o: Any, name: str, default: Any = ..., /) -> Any: ...
def hasattr(o: Any, name: str, /) -> bool: ...
def setattr(o: Any, name: str, value: Any, /) -> None: ...
def format(value: Any, spec: str = ..., /) -> str: ...
def map(f: Any, /, *values: Any) -> Any: ...
def filter(f: Any, values: Any, /) -> Any: ...
def open(path: Any, mode: str = ..., **more: Any) -> Any: ...
"""


def python_name(name: str) -> str:
    """A name of a tool or of an argument as Python can write it."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    plain = plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"
    return f"{plain}_" if plain in _TAKEN else plain


def words_of(code: str) -> set[str]:
    """Every word of a program that could be a name."""
    return set(_WORD.findall(code))


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool, as a parameter in Python."""

    name: str
    key: str  # as the tool calls it
    schema: Mapping[str, Any]
    required: bool


def parameters_of(tool: Tool) -> list[Parameter]:
    """The parameters of a tool's function, in order: those that are required first."""
    properties = mapping(tool.parameters.get("properties"))
    needed = tool.parameters.get("required")
    required = set(cast("Iterable[str]", needed)) if isinstance(needed, list | tuple) else set[str]()
    found: dict[str, Parameter] = {}
    for key in sorted(properties, key=lambda key: key not in required):
        name = key if key.isidentifier() and not keyword.iskeyword(key) else python_name(key)
        while name in found:
            name += "_"
        found[name] = Parameter(name, key, mapping(properties[key]), key in required)
    return list(found.values())


def arguments_of(tool: Tool, positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as the tool takes them. Raises `TypeError`, as Python does."""
    parameters = parameters_of(tool)
    if len(positional) > len(parameters):
        raise TypeError(f"{tool.name} takes {len(parameters)} arguments, but {len(positional)} were given.")
    keys = {one.name: one.key for one in parameters}
    given = {one.key: value for one, value in zip(parameters, positional, strict=False)}
    for name, value in named.items():
        key = keys.get(name, name)
        if key in given:
            raise TypeError(f"{tool.name} got two values for {name}.")
        given[key] = value
    return given


# For the model


def signature(tool: Tool, returned: Mapping[str, Any] | None) -> str:
    """`name(id: str, limit: int = 5) -> list[dict]`."""
    kinds = _Kinds(tool.parameters)
    shown = [_shown_parameter(one, kinds) for one in parameters_of(tool)]
    head = f"{python_name(tool.name)}("
    while len(head) + len(", ".join(shown)) > MOST_SIGNATURE_CHARACTERS and len(shown) > 1:
        shown = [*shown[: -2 if shown[-1] == "..." else -1], "..."]
    back = "" if returned is None else f" -> {_Kinds(returned).of(returned)}"
    return f"{head}{', '.join(shown)}){back}"


def _shown_parameter(one: Parameter, kinds: "_Kinds") -> str:
    kind = kinds.of(one.schema)
    if one.required:
        return f"{one.name}: {kind}"
    default = one.schema.get("default")
    return f"{one.name}: {kind} = {_literal(default) if _is_plain(default) else '...'}"


def shape(schema: Mapping[str, Any]) -> str:
    """What comes back, on one line: `[{id: str, title: str}]`; empty if the schema says no more than the signature."""
    text = _shape(schema, schema, 0)
    return clean(text, MOST_SHAPE_CHARACTERS) if "{" in text else ""


def _shape(schema: object, whole: Mapping[str, Any], level: int) -> str:
    known = _resolved(schema, whole)
    if level > _MOST_LEVELS:
        return "..."
    properties = mapping(known.get("properties"))
    if properties:
        keys = list(properties)[:_MOST_KEYS]
        needed = known.get("required")
        required = cast("list[str]", needed) if isinstance(needed, list | tuple) else []
        marked = [f"{clean(key, 40)}{'' if not required or key in required else '?'}" for key in keys]
        shapes = [_shape(properties[key], whole, level + 1) for key in keys]
        inner = [f"{key}: {shown}" for key, shown in zip(marked, shapes, strict=True)]
        return f"{{{', '.join([*inner, *(['...'] if len(properties) > len(keys) else [])])}}}"
    if known.get("type") == "array" and mapping(known.get("items")):
        return f"[{_shape(known['items'], whole, level + 1)}]"
    for key in ("anyOf", "oneOf"):
        if isinstance(known.get(key), list):
            branches = [_shape(one, whole, level + 1) for one in cast("list[object]", known[key])[:_MOST_UNION]]
            return " | ".join(dict.fromkeys(branches))
    return _Kinds(whole).of(known)


def line(tool: Tool, returned: Mapping[str, Any] | None, *notes: str) -> str:
    """`name(...) -> list[dict] [asks the user first]: what it does`."""
    words = one_line(tool)
    head = f"{signature(tool, returned)}{marks(*notes)}"
    return f"{head}: {words}" if words else head


# For the type check


def stubs(tools: Iterable[Tool], returns: Mapping[str, Mapping[str, Any]], values: Iterable[str]) -> str:
    """Declarations of tools; `returns` holds the schemas of results that are sure, `values` names of kept results."""
    lines = [_HEAD, *(f"{name}: Any" for name in values)]
    for tool in tools:
        name = python_name(tool.name)
        classes: dict[str, str] = {}
        returned = returns.get(tool.name)
        back = "Any" if returned is None else _Kinds(returned, classes, f"_{name}").of(returned)
        loose = _Kinds(tool.parameters, loose=True)
        parameters = [
            f"{one.name}: {loose.of(one.schema)}{'' if one.required else ' = ...'}" for one in parameters_of(tool)
        ]
        # What is no name in Python, the model gives as `**{"user-id": 1}`.
        odd = any(one.name != one.key for one in parameters_of(tool))
        more = ", **more: Any" if odd or not parameters else ""
        declared = (
            f"async def {name}({', '.join(parameters)}{more if parameters else more.lstrip(', ')}) -> {back}: ..."
        )
        lines += [*classes.values(), declared]
    return "\n".join(lines) + "\n"


@dataclass(slots=True)
class _Kinds:
    """Writes schemas as annotations; with `classes`, objects become TypedDicts there."""

    whole: Mapping[str, Any]
    classes: dict[str, str] | None = None
    prefix: str = ""
    loose: bool = False  # for arguments: whatever can be read like a list is one
    _known: dict[str, str] = field(default_factory=dict[str, str])

    def of(self, schema: object, level: int = 0) -> str:
        """The annotation of a schema."""
        known = _resolved(schema, self.whole)
        if level > _MOST_LEVELS or not known:
            return "Any"
        if "const" in known:
            return f"Literal[{_literal(known['const'])}]" if _is_choice(known["const"]) else "Any"
        values = known.get("enum")
        if isinstance(values, list | tuple) and values:
            return _choices(cast("Sequence[object]", values))
        for key in ("anyOf", "oneOf"):
            if isinstance(branches := known.get(key), list | tuple):
                return self._union(cast("Sequence[object]", branches), level)
        if isinstance(parts := known.get("allOf"), list | tuple):
            single = cast("Sequence[object]", parts)
            return self.of(single[0], level + 1) if len(single) == 1 else "Any"
        kinds = known.get("type")
        if isinstance(kinds, list | tuple):
            return self._union([{**known, "type": kind} for kind in cast("Sequence[object]", kinds)], level)
        if kinds == "array":
            return f"{'Sequence' if self.loose else 'list'}[{self.of(known.get('items'), level + 1)}]"
        if kinds == "object" or (kinds is None and "properties" in known):
            return self._object(known, level)
        return _PLAIN.get(str(kinds), "Any")

    def _union(self, branches: Sequence[object], level: int) -> str:
        kinds = list(dict.fromkeys(self.of(branch, level + 1) for branch in branches))
        if "Any" in kinds or not kinds or len(kinds) > _MOST_UNION:
            return "Any"
        return " | ".join(sorted(kinds, key=lambda kind: kind == "None"))

    def _object(self, schema: Mapping[str, Any], level: int) -> str:
        properties = mapping(schema.get("properties"))
        if self.loose:
            return "Mapping[str, Any]"
        if not properties:
            inner = mapping(schema.get("additionalProperties"))
            return f"dict[str, {self.of(inner, level + 1)}]" if inner else "dict[str, Any]" if self.prefix else "dict"
        if self.classes is None:
            return "dict"
        if len(properties) > _MOST_KEYS or not all(
            key.isidentifier() and not keyword.iskeyword(key) for key in properties
        ):
            return "dict[str, Any]"
        name = f"{self.prefix}{len(self.classes) + 1}"
        self.classes[name] = ""  # its place: before those that it holds would be too late for recursion
        fields = [f"    {key}: {self.of(value, level + 1)}" for key, value in properties.items()]
        del self.classes[name]
        self.classes[name] = "\n".join([f"class {name}(TypedDict):", *fields])
        return name


def _resolved(schema: object, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema, or what its reference in the same document points to."""
    known = mapping(schema)
    for _ in range(_MOST_LEVELS):
        reference = known.get("$ref")
        if not isinstance(reference, str):
            return known
        target: object = whole
        for step in reference.removeprefix("#").strip("/").split("/"):
            target = mapping(target).get(step) if step else target
        known = mapping(target)
    return {}


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) and len(str(value)) <= 40


def _is_choice(value: object) -> bool:
    return value is None or isinstance(value, str | bool | int)


def _choices(values: Sequence[object]) -> str:
    short = all(_is_choice(value) and clean(str(value), 60) == str(value) for value in values)
    if len(values) > _MOST_VALUES or not short:
        kinds = {type(value) for value in values}
        return kinds.pop().__name__ if len(kinds) == 1 and kinds <= {str, int, float, bool} else "Any"
    return f"Literal[{', '.join(map(_literal, values))}]"


def _literal(value: object) -> str:
    """A value as Python writes it, in double quotes and without what cannot be seen."""
    if isinstance(value, str):
        text = clean(value, 60)
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


# What tools return: declared, or seen


def declared(tool: Tool) -> Mapping[str, Any] | None:
    """The schema of a tool's result, as its source or its annotation says; None if nothing does."""
    schema = tool.output_schema
    if schema is not None:
        if schema.get("x-fastmcp-wrap-result") is not True:
            return schema
        inner = mapping(mapping(schema.get("properties")).get("result"))
        return {**inner, "$defs": mapping(schema.get("$defs"))} if inner else None
    return output_schema(tool.call.function) if isinstance(tool.call, FunctionCall) else None


def learned(value: object, before: Mapping[str, Any] | None = None, level: int = 0) -> dict[str, Any]:
    """The schema of a value that was seen, joined with what was seen before: names of keys and kinds, no contents."""
    if isinstance(value, bool):
        return _joined({"type": "boolean"}, before)
    if value is None:
        return _joined({"type": "null"}, before)
    if isinstance(value, int | float):
        return _joined({"type": "integer" if isinstance(value, int) else "number"}, before)
    if isinstance(value, Mapping) and level < _MOST_LEVELS:
        held = cast("Mapping[str, object]", value)
        known = dict(mapping(mapping(before).get("properties")))
        for key in list(held)[:_MOST_LEARNED_KEYS]:
            if key in known or len(known) < _MOST_LEARNED_KEYS:
                known[key] = learned(held[key], known.get(key), level + 1)
        return _joined({"type": "object", "properties": known}, before)
    if isinstance(value, list) and level < _MOST_LEVELS:
        inner: Mapping[str, Any] | None = mapping(mapping(before).get("items")) or None
        for item in cast("list[object]", value)[:3]:
            inner = learned(item, inner, level + 1)
        return _joined({"type": "array", **({"items": inner} if inner else {})}, before)
    return _joined({"type": "string"} if isinstance(value, str) else {}, before)


def _joined(seen: dict[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """A kind that was seen now and another one before; unlike ones say nothing, but that a value can be null."""
    kind, known = seen.get("type"), mapping(before)
    if not known or known.get("type") == kind:
        return seen
    if kind == "null":
        return {**known, "nullable": True}
    if known.get("type") == "null" or known.get("nullable"):
        return {**seen, "nullable": True}
    return {}
