"""A model that follows a script: for tests of an application, and for trying out what a run does, without any key."""

from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel


def scripted_model(*said: str | tuple[str, dict[str, Any]]) -> FunctionModel:
    """A model that says one thing after the other, one with each request: a text, or a call of a tool."""
    left = list(said)

    def part(place: int) -> TextPart | ToolCallPart:
        now = left.pop(0) if left else "The script is over."
        return TextPart(now) if isinstance(now, str) else ToolCallPart(*now, tool_call_id=f"call-{place}")

    def at_once(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[part(len(messages))])

    async def in_pieces(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        now = part(len(messages))
        if isinstance(now, TextPart):
            yield now.content
        else:
            call = DeltaToolCall(name=now.tool_name, json_args=now.args_as_json_str(), tool_call_id=now.tool_call_id)
            yield {0: call}

    return FunctionModel(at_once, stream_function=in_pieces, model_name="scripted")
