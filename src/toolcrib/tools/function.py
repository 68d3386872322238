"""`@tool`: makes a tool of a typed Python function. Hints give its schema, the docstring its words."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, TypedDict, Unpack, cast, overload

from toolcrib.errors import ToolDefinitionError, did_you_mean
from toolcrib.tools.text import first_sentence
from toolcrib.tools.tool import Extractor, Protocol, Risk, Tool


class ToolOptions(TypedDict, total=False):
    """What a function cannot express by itself; every option may be left out."""

    name: str  # else the function's name
    description: str  # else the first sentence of its docstring
    category: str
    phrases: Iterable[str]
    related: Iterable[str]
    risk: Risk | str
    confirm: bool
    protocol: Protocol | str | None  # a text has lines such as `BEFORE: ...`
    extraction: Extractor | None
    timeout: float | None  # seconds, in place of the toolbox's limit
    retries: int | None  # with Pydantic AI, as are the next two
    strict: bool | None
    sequential: bool


@overload
def tool(function: Callable[..., object], /, **options: Unpack[ToolOptions]) -> Tool: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[Callable[..., object]], Tool]: ...
def tool(
    function: Callable[..., object] | None = None, /, **options: Unpack[ToolOptions]
) -> Tool | Callable[[Callable[..., object]], Tool]:
    """Make a tool of a sync or async function: `@tool`, `@tool(category="images")` or `tool(function)`.

    Every parameter needs a type hint; the docstring (Google, NumPy or Sphinx style) may describe them. A first
    parameter of the type `ToolContext`, or of Pydantic AI's `RunContext`, receives the context of the call, as does one
    named `context`; the model does not see it. To offer an argument of that name, name the parameter differently and
    annotate it with `Field(alias="context")`. Sync functions run in a thread.
    """
    if function is None:
        return lambda decorated: _made_of(decorated, options)
    return _made_of(function, options)


def tools_in(place: ModuleType | Iterable[Callable[..., object]], **options: Unpack[ToolOptions]) -> list[Tool]:
    """The public functions of a module as tools, in its order, or those of a list; what is a tool already stays one.

    Of a module these are the names in its `__all__`; else the functions it defines itself, without those in `_`.
    """
    if isinstance(place, ModuleType):
        found = list(_public(place))
        if not found:
            raise ToolDefinitionError(
                f"The module {place.__name__!r} defines no functions.",
                hint="Give the module in which they are written.",
            )
    elif isinstance(cast("object", place), Iterable):
        found = list(place)
    else:
        raise ToolDefinitionError(f"{place!r} is no module and no list of functions.", hint="Import the module first.")
    made = (one if isinstance(one, Tool) else _made_of(one, options) for one in found)
    return list({one.name: one for one in made}.values()) if isinstance(place, ModuleType) else list(made)


def _public(module: ModuleType) -> Iterable[Callable[..., object] | Tool]:
    listed = getattr(module, "__all__", None)
    for name in listed if listed is not None else vars(module):
        value = getattr(module, name, None)
        own = listed is not None or (not name.startswith("_") and getattr(value, "__module__", "") == module.__name__)
        if isinstance(value, Tool) or (inspect.isroutine(value) and own):
            yield value


def _made_of(function: object, options: ToolOptions) -> Tool:
    unknown = sorted(options.keys() - ToolOptions.__annotations__)
    if unknown:
        raise ToolDefinitionError(
            f"A tool has no option {unknown[0]!r}.",
            hint=did_you_mean(unknown[0], ToolOptions.__annotations__)
            or f"Options: {', '.join(ToolOptions.__annotations__)}.",
        )
    called = _checked_function(function)

    from toolcrib.tools.call import (
        FunctionCall,  # late: loads pydantic
        Signature,
        label,
        underlying,
    )

    plain = underlying(called)
    summary, descriptions = _words(inspect.getdoc(plain) or "")
    signature = Signature.of(called, descriptions)
    stated = {option: value for option, value in options.items() if value is not None}
    fields: dict[str, Any] = {"name": label(called), "description": summary, "origin": _origin(plain), **stated}
    call = FunctionCall(fields["name"], called, signature)
    return Tool(**fields, parameters=signature.parameters, call=call)


def _checked_function(function: object) -> Callable[..., object]:
    if inspect.isclass(function) or not callable(function):
        raise ToolDefinitionError(
            f"{function!r} is not a function, so it cannot become a tool.",
            hint="Write `@tool` above a function, or above a function that makes and uses the object.",
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ToolDefinitionError(
            f"{function.__name__!r} yields, so it cannot become a tool: a model gets one result.",
            hint="Return a list of what it yields.",
        )
    return function


def _words(docstring: str) -> tuple[str, Mapping[str, str]]:
    """The first sentence of a docstring, and its description of each argument."""
    from docstring_parser import parse  # late: only definitions need it

    parsed = parse(docstring)  # tries every style; text in none of them is a description without arguments
    described = {
        name.strip(" *"): " ".join(parameter.description.split())
        for parameter in parsed.params
        if parameter.description
        for name in parameter.arg_name.split(",")  # NumPy style: `width, height : int`
    }
    return first_sentence(parsed.short_description or ""), described


def _origin(function: Callable[..., object]) -> str:
    code = getattr(function, "__code__", None)  # functions written in C have none
    line = f":{code.co_firstlineno}" if code else ""
    return f"{function.__module__}{line}"
