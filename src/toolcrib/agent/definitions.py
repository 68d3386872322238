"""Tools as Pydantic AI wants them, each made once: the same object at each step is cheap, and changes no cache."""

from pydantic_ai.tools import ToolDefinition

from toolcrib.agent.confirmed import with_confirmed
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.discovery.wire import description, schema
from toolcrib.policy import Decision
from toolcrib.tools.tool import Tool


class Definitions:
    """The definitions of one toolset; `confirmable` adds the argument `confirmed` to tools that ask first."""

    def __init__(self, *, confirmable: bool) -> None:
        self._confirmable = confirmable
        self._made: dict[str, tuple[Tool, bool, ToolDefinition]] = {}

    def visible(self, toolbox: Toolbox) -> list[ToolDefinition]:
        """What the model sees now."""
        surface = {tool.name for tool in toolbox.surface}  # the policy does not touch them
        return [
            self._of(tool, asks=self._confirmable and tool.name not in surface and _asks(toolbox, tool))
            for tool in toolbox.visible()
        ]

    def _of(self, tool: Tool, *, asks: bool) -> ToolDefinition:
        held = self._made.get(tool.name)
        if held is None or held[0] is not tool or held[1] is not asks:
            parameters = schema(tool.parameters)
            made = ToolDefinition(
                name=tool.name,
                description=description(tool) or None,
                parameters_json_schema=with_confirmed(parameters) if asks else parameters,
                strict=False,
            )
            held = self._made[tool.name] = (tool, asks, made)
        return held[2]


def _asks(toolbox: Toolbox, tool: Tool) -> bool:
    return toolbox.verdict(tool).decision is Decision.ASK
