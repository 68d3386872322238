"""A tool that really runs: for as long as it may, and whatever it raises is a failed result."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.discovery import refusals
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Execution:
    """How the tools of one toolbox run."""

    timeout_seconds: float | None = TIMEOUT_SECONDS
    # Told what every tool gave that really ran, also when another tool called it.
    watch: Callable[[Tool, ToolResult], None] | None = None

    async def run(
        self, tool: Tool, arguments: Mapping[str, Any], context: object, *, limited: bool = True
    ) -> ToolResult:
        """Run a tool. What calls others in turn is not limited: each of those has a limit, and tells more then."""
        result = await _outcome(tool, arguments, context, self.timeout_seconds if limited else None)
        if self.watch is not None:
            self.watch(tool, result)
        return result


async def _outcome(tool: Tool, arguments: Mapping[str, Any], context: object, seconds: float | None) -> ToolResult:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return ToolResult.of(await tool.call(arguments, context))
    except Exception as error:  # foreign code: the tool
        if seconds is not None and limit.expired():
            return refusals.timed_out(tool.name, seconds)
        logger.error("Tool %r failed", tool.name, exc_info=error)
        return refusals.broken(tool.name, error)
