"""Other agents as tools: what a model hands over is a request in words, and what it gets back is the answer.

Agents of this process (Pydantic AI) become tools here; agents elsewhere, found by their A2A card, in `a2a.py`.
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

CATEGORY = "agents"  # what `discover_agents` looks for
REQUEST: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "request": {
            "type": "string",
            "description": "What to do, with all there is to know: it has not seen this talk.",
        }
    },
    "required": ["request"],
}
_MOST_ERROR_CHARACTERS = 500


class Answer(Protocol):
    """What a run gave."""

    @property
    def output(self) -> Any: ...


class Runs(Protocol):
    """What is needed of an agent; every `pydantic_ai.Agent` has it."""

    async def run(self, user_prompt: str, /, *, deps: Any = None) -> Answer: ...


def agent_tool(
    agent: Runs,
    *,
    description: str,
    name: str | None = None,
    phrases: Iterable[str] = (),
    risk: Risk | str = Risk.MODERATE,
    deps: Any = None,
) -> Tool:
    """A Pydantic AI agent as a tool. Its name is the agent's own if none is given; each call is a run of its own."""
    called = name or getattr(agent, "name", None)
    if not called:
        raise ToolDefinitionError("An agent without a name cannot become a tool.", hint='Give `name="writer"`.')
    safe = safe_prefix(str(called))
    return Tool(
        name=safe,
        description=description,
        parameters=REQUEST,
        call=AgentCall(safe, agent, deps),
        category=CATEGORY,
        phrases=tuple(phrases),
        risk=Risk(risk),
        source=f"agent:{called}",
    )


@dataclass(frozen=True, slots=True)
class AgentCall:
    """Runs one agent of this process."""

    name: str
    agent: Runs = field(repr=False)
    deps: Any = field(default=None, repr=False)

    async def __call__(self, arguments: Mapping[str, Any], context: object = None, /) -> ToolResult:
        """What the agent answered; its failure is a failed result."""
        request = request_in(arguments)
        if request is None:
            return no_request(self.name)
        try:
            answer = await self.agent.run(request, deps=self.deps)
        except Exception as error:  # foreign code: the agent, its model and its tools
            logger.error("Agent %r failed", self.name, exc_info=error)
            what = f"{type(error).__name__}: {error}"[:_MOST_ERROR_CHARACTERS]
            return ToolResult.failure(f"{self.name} could not do it: {what}")
        return ToolResult.of(answer.output)


def request_in(arguments: Mapping[str, Any]) -> str | None:
    """The request in words; None if there is none."""
    request = arguments.get("request")
    return request if isinstance(request, str) and request.strip() else None


def no_request(name: str) -> ToolResult:
    """The result of a call that asks for nothing."""
    return ToolResult.failure(explain_complaints(name, [(["request"], MISSING)], REQUEST))
