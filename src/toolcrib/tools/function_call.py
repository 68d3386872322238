"""How a function tool runs: arguments in, a result out, and no exception in between."""

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import ValidationError

from toolcrib.tools.argument_errors import explain, explain_not_an_object
from toolcrib.tools.result import ToolResult
from toolcrib.tools.signature import CONTEXT, Signature

logger = logging.getLogger(__name__)

_MOST_ERROR_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """Calls one function for a model. Cancellation passes through; a cancelled thread still runs to its end."""

    name: str
    function: Callable[..., Any]
    signature: Signature = field(repr=False)

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        try:
            keywords = self._keywords(arguments)
        except ValidationError as error:
            return ToolResult.failure(explain(self.name, error, self.signature.parameters))
        except Exception as error:  # foreign code: a validator of the tool's own types
            return self._failed(error)
        if keywords is None:
            return ToolResult.failure(explain_not_an_object(self.name, arguments))
        if self.signature.takes_context:
            keywords[CONTEXT] = context
        try:
            return ToolResult.of(await self._run(keywords))
        except (Exception, SystemExit) as error:  # foreign code: the tool; its `sys.exit()` must not end the agent
            return self._failed(error)

    def refusal(self, arguments: object) -> str | None:
        """What a call would say against these arguments; None if it would run."""
        try:
            keywords = self._keywords(arguments)
        except ValidationError as error:
            return explain(self.name, error, self.signature.parameters)
        except Exception:  # foreign code, as above: the call itself tells about it
            return None
        return explain_not_an_object(self.name, arguments) if keywords is None else None

    def _keywords(self, arguments: object) -> dict[str, Any] | None:
        if not isinstance(arguments, Mapping):
            return None
        return self.signature.validate(dict(cast("Mapping[object, object]", arguments)))

    async def _run(self, keywords: Mapping[str, Any]) -> object:
        if _is_async(self.function):
            value = self.function(**keywords)
        else:
            import asyncio  # late: whoever only reads tools needs no event loop

            value = await asyncio.to_thread(self._run_here, keywords)
            if isinstance(value, _Raised):
                raise value.error
        return await value if inspect.isawaitable(value) else value

    def _run_here(self, keywords: Mapping[str, Any]) -> Any:
        try:
            return self.function(**keywords)
        except (Exception, SystemExit) as error:  # carried by hand: a StopIteration would never leave the thread
            return _Raised(error)

    def _failed(self, error: BaseException) -> ToolResult:
        logger.error("Tool %r failed", self.name, exc_info=error)
        what = ": ".join(part for part in (type(error).__name__, str(error)) if part)
        return ToolResult.failure(f"{self.name} failed: {what[:_MOST_ERROR_CHARACTERS]}")


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
