"""Finds modules by name and makes their tools from options. Loads pydantic; import it late."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias, cast, get_type_hints

from pydantic import ConfigDict, SkipValidation, ValidationError, create_model, validate_call

from toolcrib.errors import ModuleError, ToolcribError, did_you_mean
from toolcrib.tools.function import ToolOptions, tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

# Makes tools of methods: the first paragraph is the description, refusals become failed results.


def tools_from_methods(methods: Iterable[Callable[..., Any]], words: Mapping[str, ToolOptions]) -> tuple[Tool, ...]:
    """The tools of sync and async methods, with their metadata."""
    return tuple(_tool(method, words[method.__name__]) for method in methods)


def _tool(method: Callable[..., Any], words: ToolOptions) -> Tool:
    description = " ".join((inspect.getdoc(method) or "").partition("\n\n")[0].split())
    called = _refusing_later(method) if inspect.iscoroutinefunction(method) else _refusing(method)
    return tool(called, **{"description": description, **words})


def _refusing(method: Callable[..., object]) -> Callable[..., object]:
    @wraps(method)
    def call(**arguments: Any) -> object:
        try:
            return method(**arguments)
        except ToolcribError as error:
            return failure(error)

    return call


def _refusing_later(method: Callable[..., object]) -> Callable[..., Awaitable[object]]:
    @wraps(method)
    async def call(**arguments: Any) -> object:
        try:
            return await cast("Awaitable[object]", method(**arguments))
        except ToolcribError as error:
            return failure(error)

    return call


def failure(error: ToolcribError) -> ToolResult:
    """The failed result in place of an exception."""
    return ToolResult.failure(f"{error} {error.hint}" if error.hint else str(error))


ENTRY_POINTS = "toolcrib.modules"

ModuleFactory: TypeAlias = Callable[..., Iterable[Tool]]  # called with `workdir` and its options, all by name

# Loaded when asked for: an app without a shell never imports one.
_OURS: Mapping[str, str] = {
    "filesystem": "toolcrib.sources.modules.filesystem.tools",
    "memory": "toolcrib.sources.modules.memory",
    "web": "toolcrib.sources.modules.web",
    "shell": "toolcrib.sources.modules.shell",
    "core": "toolcrib.sources.modules.core",
}


def module(name: str, *, workdir: Path | str, **options: object) -> tuple[Tool, ...]:
    """The tools of a module for a work folder; each says `module:NAME` as its source.

    Raises:
        ModuleError: There is no such module, an option is wrong, or something it needs is not there.
    """
    factory = module_factory(name)
    checked = validate_call(config=ConfigDict(arbitrary_types_allowed=True))(factory)
    try:
        made = checked(workdir=Path(workdir), **options)
    except ValidationError as error:
        raise _wrong_options(name, error, option_names(name)) from None
    return tuple(_stamped(name, made))


def module_names() -> tuple[str, ...]:
    """The names of all modules: ours first, then those of installed packages."""
    foreign = {point.name for point in entry_points(group=ENTRY_POINTS)} - _OURS.keys()
    return (*_OURS, *sorted(foreign))


def option_names(name: str) -> tuple[str, ...]:
    """The options of a module that a file can set, without those that only code can pass."""
    return tuple(_settable(name))


def options_schema(name: str) -> dict[str, Any]:
    """The same as a JSON Schema."""
    model: Any = create_model(f"{name.title()}Options", __config__=ConfigDict(extra="forbid"), **_settable(name))
    schema = model.model_json_schema()
    for option in schema.get("properties", {}).values():
        option.pop("title", None)  # it only repeats the name
    return schema


def _settable(name: str) -> dict[str, Any]:
    """Hint and default of each option, in pydantic's form."""
    factory = module_factory(name)
    hints = get_type_hints(factory, include_extras=True)
    return {
        one.name: (hints.get(one.name, Any), ... if one.default is one.empty else one.default)
        for one in inspect.signature(factory).parameters.values()
        if one.name != "workdir"
        and one.kind is not one.VAR_KEYWORD
        and SkipValidation not in getattr(hints.get(one.name), "__metadata__", ())
    }


def module_factory(name: str) -> ModuleFactory:
    """The function that makes the tools of a module. A package cannot replace one of ours."""
    if name in _OURS:
        return getattr(import_module(_OURS[name]), name)
    points = entry_points(group=ENTRY_POINTS, name=name)
    if len(points) > 1:
        places = ", ".join(sorted(point.value for point in points))
        raise ModuleError(f"Several packages bring a module {name!r}: {places}.", hint="Uninstall all but one.")
    for point in points:
        try:
            return point.load()
        except Exception as error:  # foreign code: an installed package
            raise ModuleError(
                f"The module {name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}.",
                hint="Check the package that brings it.",
            ) from error
    known = module_names()
    raise ModuleError(
        f"There is no module {name!r}.",
        hint=did_you_mean(name, known) or f"There are {', '.join(known)}.",
    )


def _stamped(name: str, made: object) -> Iterable[Tool]:
    for one in made if isinstance(made, Iterable) else [made]:  # pyright: ignore[reportUnknownVariableType]  # foreign
        if not isinstance(one, Tool):
            raise ModuleError(
                f"The module {name!r} gave {one!r}, which is not a tool.", hint="A module returns `Tool`s; see `@tool`."
            )
        yield one.with_metadata(source=f"module:{name}", category=one.category or name)


def _wrong_options(name: str, error: ValidationError, known: Sequence[str]) -> ToolcribError:
    complaints: dict[str, str] = {}
    for one in error.errors(include_url=False, include_context=False):
        option = ".".join(map(str, one["loc"]))
        complaints[option] = _complaint(option, one, known)
    return ModuleError(
        f"The module {name!r} cannot be made: {'; '.join(f'{key}: {text}' for key, text in complaints.items())}.",
        hint=f"Its options: {', '.join(known) or 'none'}.",
        options=complaints,
    )


def _complaint(option: str, error: Mapping[str, Any], known: Sequence[str]) -> str:
    if error["type"] == "unexpected_keyword_argument":
        return f"there is no such option. {did_you_mean(option, known) or ''}".rstrip(" .")
    if "missing" in error["type"]:
        return "is required"
    return f"{error['msg']} (got {error['input']!r})"
