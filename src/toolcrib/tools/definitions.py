"""Tools as others describe them, read as a `Tool`: JSON in the forms of providers, MCP and people; LangChain.

A definition says what a tool is, and not how it is run: one handler may run all of them, or none does.
"""

import inspect
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields as dataclass_fields
from typing import Any, Protocol as Seam, TypeAlias, cast

from toolcrib.errors import ToolDefinitionError, did_you_mean
from toolcrib.tools.result import ToolResult, as_json
from toolcrib.tools.schema import items, mapping
from toolcrib.tools.text import clean, clean_words
from toolcrib.tools.tool import Protocol, Risk, Tool, checked_callable, only_listed, safe_name
from toolcrib.tools.verbs import Effect, effect_of

Handler: TypeAlias = Callable[[str, dict[str, Any]], object]
"""Runs every tool of some definitions, by name; sync in a thread, or async."""

SOURCE = "definitions"
MOST_DESCRIPTION_CHARACTERS = 2_000
MOST_CATEGORY_CHARACTERS = 60

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
_RESULTS = ("output_schema", "outputSchema", "return_schema", "responseJsonSchema")
_LISTS = ("tools", "functions", "functionDeclarations", "function_declarations", "result")
_OURS = ("category", "phrases", "related", "risk", "confirm", "protocol", "timeout", "strict", "metadata")
_FORMS = 'Give {"name": ..., "description": ..., "parameters": {...}}, in the form of OpenAI, Anthropic, Gemini or MCP.'


def tools_of(
    definitions: object, *, handler: Handler | None = None, source: str = SOURCE, category: str = ""
) -> list[Tool]:
    """The tools of one definition, a list of them, or an object that holds such a list, such as an MCP server's answer.

    Args:
        definitions: What was read from JSON.
        handler: Runs all of them: `handler(name, arguments)`. Without it they can be found, and not called.
        source: Where they come from, for people and policies.
        category: Of those that have none.
    """
    if handler is not None:
        checked_callable(source, "handler", handler)
    return [
        _tool_of(one, place, handler, source, inner or category) for place, inner, one in _each(definitions, source)
    ]


def _each(value: object, place: str, category: str = "") -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every definition, with the place where it stands and the category around it."""
    if isinstance(value, list | tuple):
        for number, one in enumerate(cast("list[object]", value), start=1):
            yield from _each(one, f"{place}, number {number}", category)
        return
    if not isinstance(value, Mapping):
        raise ToolDefinitionError(f"{place}: {reprlib.repr(value)} is no definition of a tool.", hint=_FORMS)
    known = cast("Mapping[str, Any]", value)
    held = next((key for key in _LISTS if isinstance(known.get(key), list | Mapping)), None)
    if held is not None and not any(key in known for key in _SCHEMAS):
        name = known.get("name")
        yield from _each(known[held], place, name if isinstance(name, str) else category)  # a namespace of OpenAI
    else:
        yield place, category, known


def _tool_of(known: Mapping[str, Any], place: str, handler: Handler | None, source: str, category: str) -> Tool:
    inner = known.get("function")
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else known
    name = fields.get("name")
    if not isinstance(name, str):
        kind = known.get("type")
        what = f"{kind!r} has no name: it is run by its provider" if kind else "a definition without a name"
        raise ToolDefinitionError(f"{place}: {what}.", hint=_FORMS)
    described = fields.get("description") or fields.get("title") or ""
    if not isinstance(described, str):
        raise ToolDefinitionError(f"{place}: the description of {name!r} is {reprlib.repr(described)}.", hint=_FORMS)
    given = next((fields[key] for key in _SCHEMAS if fields.get(key) is not None), None)
    if given is not None and not isinstance(given, Mapping):
        raise ToolDefinitionError(f"{place}: the parameters of {name!r} are {reprlib.repr(given)}.", hint=_FORMS)
    if given is None and (typo := _misspelled(fields)):
        raise ToolDefinitionError(f"{place}: {name!r} has no parameters, but {typo[0]!r}.", hint=typo[1])
    schema = cast("Mapping[str, Any]", given or {})
    stated: dict[str, Any] = {
        "category": clean(category, MOST_CATEGORY_CHARACTERS),
        "risk": risk_by(name, fields.get("annotations")),
        **{key: fields[key] for key in _OURS if fields.get(key) is not None},
    }
    if isinstance(stated.get("protocol"), Mapping):
        stated["protocol"] = _protocol(stated["protocol"], name, place)
    return Tool(
        name=name,
        description=clean(described, MOST_DESCRIPTION_CHARACTERS),
        parameters=clean_words({"type": "object", "properties": {}, **schema}),
        call=HandledCall(name, handler) if handler is not None else only_listed,
        output_schema=next((fields[key] for key in _RESULTS if isinstance(fields.get(key), Mapping)), None),
        source=source,
        origin=place,
        **stated,
    )


def _protocol(given: Mapping[str, Any], name: str, place: str) -> Protocol:
    known = {one.name for one in dataclass_fields(Protocol)}
    wrong = [key for key, value in given.items() if key not in known or not isinstance(value, str)]
    if wrong:
        raise ToolDefinitionError(
            f"{place}: the protocol of {name!r} cannot have {wrong[0]!r}: {reprlib.repr(given[wrong[0]])}.",
            hint=f"It has texts under {', '.join(sorted(known))}.",
        )
    return Protocol(**given)


def _misspelled(fields: Mapping[str, Any]) -> tuple[str, str] | None:
    """A key that was meant to hold the parameters, with a question."""
    near = ((key, did_you_mean(key, _SCHEMAS)) for key, value in fields.items() if isinstance(value, Mapping))
    return next(((key, hint) for key, hint in near if hint and key not in (*_SCHEMAS, *_RESULTS)), None)


@dataclass(frozen=True, slots=True)
class HandledCall:
    """Calls the one handler of many definitions."""

    name: str
    handler: Handler

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        import asyncio  # late, as pydantic in the next line: whoever only reads tools needs neither

        from toolcrib.tools.call import failure_of, is_async

        try:
            if is_async(self.handler):
                value = self.handler(self.name, dict(arguments))
            else:
                value = await asyncio.to_thread(self.handler, self.name, dict(arguments))
            return ToolResult.of(await value if inspect.isawaitable(value) else value)
        except (Exception, SystemExit) as error:  # foreign code: the handler
            return failure_of(self.name, error)


# Tools of LangChain. They are read by what they show, so that LangChain is not loaded for it.


class LangChainTool(Seam):
    """The part of LangChain's `BaseTool` that is used."""

    name: str
    description: str

    @property
    def tool_call_schema(self) -> Any:
        """What the model may fill in: a model of pydantic, or a JSON Schema."""
        ...

    async def ainvoke(self, input: Any) -> Any: ...


def langchain_tool(tool: LangChainTool) -> Tool:
    """A tool of LangChain, as the application's own code."""
    shape: Any = tool.tool_call_schema
    schema = cast("Mapping[str, Any]", shape if isinstance(shape, Mapping) else shape.model_json_schema())
    parameters = {key: value for key, value in schema.items() if key not in ("title", "description")}
    known: object = getattr(tool, "metadata", None)
    tags: object = getattr(tool, "tags", None)
    metadata = {**mapping(known), **({"tags": list(items(tags))} if tags else {})}
    name = safe_name(tool.name)
    return Tool(
        name=name,
        description=clean(tool.description, MOST_DESCRIPTION_CHARACTERS),
        parameters=clean_words({"type": "object", "properties": {}, **parameters}),
        call=LangChainCall(name, tool),
        metadata=metadata,
        origin=f"langchain:{type(tool).__name__}",
    )


@dataclass(frozen=True, slots=True)
class LangChainCall:
    """Calls one tool of LangChain, as a chat model would."""

    name: str
    tool: LangChainTool = field(repr=False)

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        call = {"type": "tool_call", "name": self.tool.name, "args": dict(arguments), "id": self.name}
        try:
            message = await self.tool.ainvoke(call)
        except (Exception, SystemExit) as error:  # foreign code: the tool
            from toolcrib.tools.call import failure_of  # late, as above

            return failure_of(self.name, error)
        content: object = getattr(message, "content", message)
        artifact: object = getattr(message, "artifact", None)  # for programs; no model reads it
        text = content if isinstance(content, str) else as_json(content)
        value = content if artifact is None else artifact
        return ToolResult(text=text, value=value, failed=getattr(message, "status", "") == "error")


# How much harm a tool from elsewhere can do, by its name and the hints of MCP, which can only raise what the name says.


def risk_by(name: str, annotations: object = None) -> Risk:
    """The risk of a tool by its name and MCP's `annotations`, as JSON.

    A tool with the read-only hint is safe, unless its name says that it destroys. A policy can distrust hints.
    """
    hints = mapping(annotations)
    if effect_of(name) is Effect.DESTROYS:
        return Risk.DESTRUCTIVE
    if hints.get("readOnlyHint") is True:
        return Risk.SAFE
    return Risk.DESTRUCTIVE if hints.get("destructiveHint") is True else Risk.MODERATE


def asks_by(name: str, annotations: object = None, *, believed: bool = False) -> bool:
    """Whether a stranger's tool asks before each call: whatever does not plainly read.

    The read-only hint alone is no reason to run it, unless it is `believed`: its definition is approved.
    """
    hints, effect = mapping(annotations), effect_of(name)
    if effect is Effect.DESTROYS or hints.get("destructiveHint") is True:
        return True
    if hints.get("readOnlyHint") is not None and believed:
        return hints.get("readOnlyHint") is not True
    return effect is not Effect.READS or hints.get("readOnlyHint") is False
