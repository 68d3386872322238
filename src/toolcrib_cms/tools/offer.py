"""From a method to a tool: its first paragraph is the description, its refusals are failed results."""

import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, cast

from sqlalchemy.exc import IntegrityError, OperationalError

from toolcrib import Tool, ToolcribError, ToolResult, tool

_RACE = (
    "Something else changed the same content at this moment; nothing was written. Read it again, then try once more."
)


def offered(method: Callable[..., Any]) -> Tool:
    """The tool of a sync or async method."""
    description = " ".join((inspect.getdoc(method) or "").partition("\n\n")[0].split())
    return tool(
        _refusing_later(method) if inspect.iscoroutinefunction(method) else _refusing(method), description=description
    )


def _refusing(method: Callable[..., object]) -> Callable[..., object]:
    @wraps(method)
    def call(**arguments: Any) -> object:
        try:
            return method(**arguments)
        except (ToolcribError, IntegrityError, OperationalError) as error:
            return failure(error)

    return call


def _refusing_later(method: Callable[..., object]) -> Callable[..., Awaitable[object]]:
    @wraps(method)
    async def call(**arguments: Any) -> object:
        try:
            return await cast("Awaitable[object]", method(**arguments))
        except (ToolcribError, IntegrityError, OperationalError) as error:
            return failure(error)

    return call


def failure(error: Exception) -> ToolResult:
    """What the model reads instead of an exception."""
    if isinstance(error, ToolcribError):
        said = str(error)
        return ToolResult.failure(said if not error.hint or error.hint in said else f"{said} {error.hint}")
    return ToolResult.failure(_RACE)
