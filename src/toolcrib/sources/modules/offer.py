"""From a method to a tool: its first paragraph is the description, its refusals are failed results."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from typing import Any, cast

from toolcrib.errors import ToolcribError
from toolcrib.tools.function import ToolOptions, tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool


def offered(methods: Iterable[Callable[..., Any]], words: Mapping[str, ToolOptions]) -> tuple[Tool, ...]:
    """The tools of sync and async methods, with what is said about each."""
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
    """What the model reads instead of an exception."""
    return ToolResult.failure(f"{error} {error.hint}" if error.hint else str(error))
