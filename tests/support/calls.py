"""Calling tools as a model would."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from toolcrib.sources.modules.registry import module
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

# `await call("cms_getPage", page="home")` gives the result's value, or with `refusal` its text.
Call = Callable[..., Awaitable[Any]]

Given = TypeVar("Given")


def always(given: Given) -> Callable[..., Given]:
    """A function that gives this, whatever it is called with."""

    def call(*_: object, **__: object) -> Given:
        return given

    return call


class Calls:
    """The tools of a module by name."""

    def __init__(self, name: str, workdir: Path, **options: Any) -> None:
        self.tools: Mapping[str, Tool] = {tool.name: tool for tool in module(name, workdir=workdir, **options)}

    async def run(self, tool: str, /, **arguments: Any) -> ToolResult:
        """The result, whatever it is."""
        return await self.tools[tool].call(arguments)

    async def done(self, tool: str, /, **arguments: Any) -> Any:
        """The value of a call that worked."""
        result = await self.run(tool, **arguments)
        assert not result.failed, result.text
        return result.value

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """What a call said that did not."""
        result = await self.run(tool, **arguments)
        assert result.failed, result.text
        return result.text
