"""Make a tool from a method: the first paragraph of its docstring is the description, its errors are failed results."""

import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, cast

from sqlalchemy.exc import IntegrityError, OperationalError

from toolcrib import Tool, ToolcribError, ToolResult, tool

_RACE = (
    "Something else changed the same content at this moment; nothing was written. Read it again, then try once more."
)


def make_tool(method: Callable[..., Any]) -> Tool:
    """Make the tool of a sync or async method."""
    description = " ".join((inspect.getdoc(method) or "").partition("\n\n")[0].split())
    return tool(
        _catch_errors_async(method) if inspect.iscoroutinefunction(method) else _catch_errors(method),
        description=description,
    )


def _catch_errors(method: Callable[..., object]) -> Callable[..., object]:
    @wraps(method)
    def call(**arguments: Any) -> object:
        try:
            return method(**arguments)
        except (ToolcribError, IntegrityError, OperationalError) as error:
            return failure(error)

    return call


def _catch_errors_async(method: Callable[..., object]) -> Callable[..., Awaitable[object]]:
    @wraps(method)
    async def call(**arguments: Any) -> object:
        try:
            return await cast("Awaitable[object]", method(**arguments))
        except (ToolcribError, IntegrityError, OperationalError) as error:
            return failure(error)

    return call


def failure(error: Exception) -> ToolResult:
    """Return what the model reads instead of an exception."""
    if isinstance(error, ToolcribError):
        message = str(error)
        return ToolResult.failure(message if not error.hint or error.hint in message else f"{message} {error.hint}")
    return ToolResult.failure(_RACE)
