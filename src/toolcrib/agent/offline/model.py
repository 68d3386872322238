"""The brain as Pydantic AI sees it: a model named `offline`, with streaming, usage and deterministic call ids."""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from toolcrib.agent.offline.conversation import NOTES, Conversation, read_conversation
from toolcrib.agent.offline.finder import Reply
from toolcrib.agent.offline.planner import choices_of, reply_to
from toolcrib.discovery.tokens import count_tokens

NAME = "offline"
_PIECES = re.compile(r"\s*\S+(?:\s+\S+){0,2}\s*")  # three words at a time look like somebody typing


class OfflineModel(Model[None]):
    """A model without a language model: it searches, takes the sure tool, fills its arguments and says what came out.

    The same messages give the same reply. It keeps nothing between requests; what it needs to remember from one turn
    to the next stands in its own responses, as `provider_details`.
    """

    _announces_system_voice = False  # it reads instructions for what they hold, and obeys none

    def __init__(self, *, settings: ModelSettings | None = None) -> None:
        super().__init__(settings=settings, profile=ModelProfile(supports_inline_system_prompts=True))

    @property
    def model_name(self) -> str:
        """`offline`."""
        return NAME

    @property
    def system(self) -> str:
        """The provider: the brain is its own."""
        return NAME

    @property
    def provider(self) -> None:
        """There is none to connect to."""
        return None

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The reply to these messages."""
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        return self._response(messages, parameters)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """The same reply, a few words at a time."""
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        yield _OfflineStream(parameters, reply=self._response(messages, parameters))

    def _response(self, messages: list[ModelMessage], parameters: ModelRequestParameters) -> ModelResponse:
        tools = [tool for tool in parameters.function_tools if parameters.visibility_of(tool.name) != "withheld"]
        instructions = InstructionPart.join(self._get_instruction_parts(messages, parameters) or []) or ""
        conversation = read_conversation(messages, tools, instructions)
        reply = reply_to(conversation)
        return ModelResponse(
            parts=_parts(reply, conversation, parameters),
            model_name=NAME,
            provider_name=NAME,
            provider_details={NOTES: dict(reply.notes), "choices": choices_of(reply)} if reply.notes else None,
            usage=_usage(instructions, tools, messages, reply),
            finish_reason="tool_call" if reply.calls else "stop",
        )


def _parts(reply: Reply, conversation: Conversation, parameters: ModelRequestParameters) -> Sequence[ModelResponsePart]:
    if reply.calls:
        # Ids count the calls of the conversation, so that they are unlike each other and always the same.
        first = conversation.calls + 1
        return [
            ToolCallPart(call.tool, dict(call.arguments), tool_call_id=f"offline_{number}")
            for number, call in enumerate(reply.calls, first)
        ]
    if parameters.allow_text_output or not parameters.output_tools:
        return [TextPart(reply.text)]
    tool = parameters.output_tools[0]
    return [
        ToolCallPart(
            tool.name,
            _as_output(reply.text, tool.parameters_json_schema),
            tool_call_id=f"offline_{conversation.calls + 1}",
        )
    ]


def _as_output(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The answer in the form of an output tool: its first text."""
    properties: dict[str, Any] = schema.get("properties") or {}
    name = next((name for name, one in properties.items() if one.get("type") == "string"), None)
    return {name or next(iter(properties), "response"): text}


def _usage(
    instructions: str, tools: Sequence[ToolDefinition], messages: Sequence[ModelMessage], reply: Reply
) -> RequestUsage:
    """What a model that reads o200k would have counted: texts, calls and definitions, without marks around them."""
    texts = [instructions]
    texts += [f"{tool.name} {tool.description or ''} {_json(tool.parameters_json_schema)}" for tool in tools]
    for message in messages:
        for part in message.parts:
            content = getattr(part, "content", None) or getattr(part, "args", None)
            texts.append(content if isinstance(content, str) else _json(content) if content is not None else "")
    given = [reply.text, *(f"{call.tool} {_json(dict(call.arguments))}" for call in reply.calls)]
    return RequestUsage(
        input_tokens=sum(map(count_tokens, filter(None, texts))),
        output_tokens=sum(map(count_tokens, filter(None, given))),
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


@dataclass
class _OfflineStream(StreamedResponse):
    """A reply that is known, given away in pieces."""

    reply: ModelResponse = field(kw_only=True)

    def __post_init__(self) -> None:
        self.provider_details = self.reply.provider_details
        self.finish_reason = self.reply.finish_reason
        self._usage = self.reply.usage

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        for number, part in enumerate(self.reply.parts):
            if isinstance(part, ToolCallPart):
                yield self._parts_manager.handle_tool_call_part(
                    vendor_part_id=number,
                    tool_name=part.tool_name,
                    args=part.args_as_dict(),
                    tool_call_id=part.tool_call_id,
                )
            elif isinstance(part, TextPart):
                for piece in _PIECES.findall(part.content) or [part.content]:
                    for event in self._parts_manager.handle_text_delta(vendor_part_id=number, content=piece):
                        yield event

    async def close_stream(self) -> None:
        """Nothing is open."""

    @property
    def model_name(self) -> str:
        return NAME

    @property
    def provider_name(self) -> str:
        return NAME

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return datetime.now(UTC)
