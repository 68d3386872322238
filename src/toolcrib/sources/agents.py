"""Agents as tools: the model sends a request in natural language and gets the agent's answer.

This file has agents of this process (Pydantic AI); `a2a.py` has remote agents, described by their A2A card.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolcrib.errors import ToolDefinitionError
from toolcrib.sources.names import safe_prefix
from toolcrib.tools.call import MISSING, explain_complaints
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Risk, Tool

logger = logging.getLogger(__name__)

CATEGORY = "agents"  # `discover_agents` shows the tools of this category
REQUEST: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "request": {
            "type": "string",
            "description": "What to do, with all necessary details: the agent has not seen this conversation.",
        }
    },
    "required": ["request"],
}
_MOST_ERROR_CHARACTERS = 500


class Answer(Protocol):
    """The result of a run."""

    @property
    def output(self) -> Any: ...


class RunnableAgent(Protocol):
    """An agent that can be run, such as any `pydantic_ai.Agent`."""

    async def run(self, user_prompt: str, /, *, deps: Any = None) -> Answer: ...


def agent_tool(
    agent: RunnableAgent,
    *,
    description: str,
    name: str | None = None,
    phrases: Iterable[str] = (),
    risk: Risk | str = Risk.MODERATE,
    deps: Any = None,
) -> Tool:
    """A Pydantic AI agent as a tool. Without `name` it has the agent's name. Each call is a separate run."""
    agent_name = name or getattr(agent, "name", None)
    if not agent_name:
        raise ToolDefinitionError("An agent without a name cannot become a tool.", hint='Give `name="writer"`.')
    safe = safe_prefix(str(agent_name))
    return Tool(
        name=safe,
        description=description,
        parameters=REQUEST,
        call=AgentCall(safe, agent, deps),
        category=CATEGORY,
        phrases=tuple(phrases),
        risk=Risk(risk),
        source=f"agent:{agent_name}",
    )


@dataclass(frozen=True, slots=True)
class AgentCall:
    """Runs one agent of this process."""

    name: str
    agent: RunnableAgent = field(repr=False)
    deps: Any = field(default=None, repr=False)

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        """The agent's answer, or a failed result if the run failed."""
        request = request_in(arguments)
        if request is None:
            return no_request(self.name)
        try:
            answer = await self.agent.run(request, deps=self.deps)
        except Exception as error:  # foreign code: the agent, its model and its tools
            logger.error("Agent %r failed", self.name, exc_info=error)
            reason = f"{type(error).__name__}: {error}"[:_MOST_ERROR_CHARACTERS]
            return ToolResult.failure(f"{self.name} failed: {reason}")
        return ToolResult.of(answer.output)


def request_in(arguments: Mapping[str, Any]) -> str | None:
    """The request, or None if there is none."""
    request = arguments.get("request")
    return request if isinstance(request, str) and request.strip() else None


def no_request(name: str) -> ToolResult:
    """The result of a call without a request."""
    return ToolResult.failure(explain_complaints(name, [(["request"], MISSING)], REQUEST))
