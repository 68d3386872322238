"""What Pydantic AI asks us beside the tools: the working memory for the prompt, and names that are not listed."""

from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import InstructionPart, ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from toolcrib.agent.toolset import CribToolset

MEMORY = "working-memory"


@dataclass(kw_only=True)
class SessionHooks(AbstractCapability[Any]):
    """One turn's additions to the loop."""

    toolset: CribToolset[Any]
    memory: str  # as it stood when the turn began: within a turn, the model has the results themselves
    appends: bool = False
    id: str | None = "session"

    def get_instructions(self) -> Any:
        if not self.memory:
            return None
        return InstructionPart(
            self.memory, name=MEMORY, on_change="append" if self.appends else "rewrite", dynamic=not self.appends
        )

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Let calls of names that are not listed through to the toolbox: it knows inactive tools, and what is near."""
        listed = ctx.tool_manager.tools if ctx.tool_manager is not None else None
        own = next((entry for entry in (listed or {}).values() if entry.toolset is self.toolset), None)
        if listed is not None and own is not None:
            for call in response.tool_calls:
                if call.tool_name not in listed:
                    # A copy of an entry of ours: Pydantic AI wraps them, and finds the way back by that.
                    definition = ToolDefinition(name=call.tool_name, toolset_id=own.tool_def.toolset_id)
                    listed[call.tool_name] = replace(own, tool_def=definition)
        return response
