"""A toolbox as a toolset of Pydantic AI: for our runner, and in three lines for anyone's agent.

    agent = Agent(model, toolsets=[CribToolset(Toolbox(catalog, surface=search_surface))])

Before each step Pydantic AI asks what is visible now and how to use it; each call goes through the toolbox, so policy,
repair of arguments, time limits and confirmation hold here as everywhere else.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias, cast

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import InstructionPart
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from toolcrib.agent.models import wire_of
from toolcrib.discovery.confirmation import Approval, PendingApproval, with_confirmed, without_confirmed
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.native import description, schema
from toolcrib.discovery.protocols import Delivery, Guidance, Note, delivery_for, notes_block, protocol_notes
from toolcrib.discovery.render import compact_list
from toolcrib.discovery.tokens import compact_json, text_tokens
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy.policy import Decision
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

_UNREADABLE = "\0unreadable"  # no JSON a model sends has such a key


class PassThroughValidator:
    """Lets all arguments through: the toolbox repairs them, or refuses them and shows the schema.

    Pydantic AI wants an object, so anything else is put into one.
    """

    def validate(self, input: str | dict[str, Any] | None) -> dict[str, Any]:
        """What a call carries, in whichever form."""
        return self.validate_json(input or "{}") if isinstance(input, str) else self.validate_python(input or {})

    def validate_json(
        self,
        input: str | bytes | bytearray,
        *,
        allow_partial: bool | Literal["off", "on", "trailing-strings"] = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        try:
            value = json.loads(input)
        except ValueError:
            value = input if isinstance(input, str) else bytes(input).decode("utf-8", "replace")
        return self.validate_python(value)

    def validate_python(
        self, input: Any, *, allow_partial: bool | Literal["off", "on", "trailing-strings"] = False, **kwargs: Any
    ) -> dict[str, Any]:
        if isinstance(input, Mapping):
            return {str(key): value for key, value in cast("Mapping[object, Any]", input).items()}
        return {_UNREADABLE: input}


def raw_arguments(arguments: dict[str, Any]) -> object:
    """What the model sent."""
    return arguments.get(_UNREADABLE, arguments)


def shown_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same for people; what could not be read is under `arguments`."""
    return {"arguments": arguments[_UNREADABLE]} if _UNREADABLE in arguments else arguments


@dataclass(frozen=True)
class Step:
    """What the model sees at one step: made once, and read for the request, the prompt and the token count."""

    tools: tuple[Tool, ...]
    guidance: tuple[str, ...]  # the texts that the notes were made of
    definitions: tuple[ToolDefinition, ...]
    notes: tuple[Note, ...]

    @cached_property
    def protocols(self) -> str:
        """How to use the tools; empty if there are no notes."""
        return notes_block(self.notes)

    @cached_property
    def appended_protocols(self) -> str:
        """The same, where changes are sent as a diff."""
        return notes_block(self.notes, blank_lines=_BLANK_LINES_WHEN_APPENDED)

    @cached_property
    def definition_tokens(self) -> int:
        """The tokens of the definitions, as entries of a request in OpenAI's chat format."""
        return sum(text_tokens(compact_json(_entry(one))) for one in self.definitions)

    @cached_property
    def protocol_tokens(self) -> int:
        """The tokens of the protocols."""
        return text_tokens(self.protocols)


def _entry(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
    return {"type": "function", "function": function}


class Definitions:
    """The definitions of one toolset, each made once: the same object at each step changes no cache.

    `confirmable` adds the argument `confirmed` to tools that ask first.
    """

    def __init__(self, *, confirmable: bool) -> None:
        self._confirmable = confirmable
        self._made: dict[str, tuple[Tool, bool, ToolDefinition]] = {}

    def of(self, toolbox: Toolbox, tools: tuple[Tool, ...]) -> tuple[ToolDefinition, ...]:
        """The definitions of tools that are visible in a toolbox."""
        surface = {tool.name for tool in toolbox.surface}  # the policy does not apply to them
        return tuple(
            self._of(tool, asks=self._confirmable and tool.name not in surface and _asks(toolbox, tool))
            for tool in tools
        )

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


PROTOCOLS = "active-protocols"
TOOL_LIST = "tools"
# Pydantic AI appends a change of the protocols as a diff with two lines around it: blank ones, not two long notes.
_BLANK_LINES_WHEN_APPENDED = 2
_RETRIES = 3  # never used up: what is wrong with a call comes back as a failed result


class Confirmer(Protocol):
    """Decides whether the user confirmed a call. The model's argument `confirmed` is no proof."""

    async def __call__(self, pending: PendingApproval, confirmed: bool, /) -> Approval | ToolResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that has its result."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    result: ToolResult
    took_ms: float


@dataclass(slots=True)
class ModelCall:
    """A call of the model that is being made; it may run several tools, one after the other."""

    id: str
    tools: int = 0

    def next_id(self) -> str:
        """An id for the next tool that it runs."""
        self.tools += 1
        return self.id if self.tools == 1 else f"{self.id}:{self.tools}"


_model_call: ContextVar[ModelCall] = ContextVar("toolcrib_model_call")


def model_call() -> ModelCall:
    """The call of the model that this code runs in."""
    return _model_call.get()


Toolboxes: TypeAlias = Callable[[RunContext[AgentDepsT]], Toolbox]


class CribToolset(AbstractToolset[AgentDepsT]):
    """The tools of one toolbox, as they are visible from step to step."""

    def __init__(
        self,
        toolbox: Toolbox | Toolboxes[AgentDepsT],
        *,
        id: str = "toolcrib",
        delivery: Delivery | str = Delivery.AUTO,
        guidance: Guidance | None = None,
        deferred: bool = False,
        consent: Confirmer | None = None,
        list_named: bool = True,
    ) -> None:
        """Serve a toolbox.

        Args:
            toolbox: One for everything this agent does, or a function that gives the one of a run, by its `deps`.
                A toolbox is one conversation's: an agent that serves several people needs the function.
            id: Its name among the agent's toolsets.
            delivery: How the model learns of changed protocols.
            guidance: What there is to know about whole categories.
            deferred: Whether calls that need the user's yes end the run with `DeferredToolRequests`, Pydantic AI's way
                to ask; the agent's `output_type` must allow it. Without, and without `consent`, they are refused.
            consent: Decides whether the user confirmed a call. With it, tools that ask get an argument `confirmed`.
            list_named: Whether tools that the last search only named stand in the list by their names, without
                arguments: Pydantic AI lets a model call nothing else. The first call of one brings its definition.
        """
        self._given = toolbox
        self._id = id
        self._delivery = Delivery(delivery)
        self._guidance = guidance
        self._deferred = deferred
        self._consent = consent
        self._list_named = list_named
        self._named: tuple[str, ...] = ()  # by the last search
        self._finished: dict[str, Call] = {}
        self._definitions = Definitions(confirmable=consent is not None)
        self._step: Step | None = None
        self._listed: tuple[int, str] = (-1, "")  # the list of compact mode, and the revision it was made for

    @property
    def id(self) -> str:
        return self._id

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """The toolset of this run. A run with a prompt is a turn of the user, and makes room in the toolbox."""
        toolbox = self._given if isinstance(self._given, Toolbox) else self._given(ctx)
        if ctx.prompt is not None:
            toolbox.begin_turn()
        if isinstance(self._given, Toolbox):
            return self
        return CribToolset(
            toolbox,
            id=self._id,
            delivery=self._delivery,
            guidance=self._guidance,
            deferred=self._deferred,
            consent=self._consent,
            list_named=self._list_named,
        )

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """What the model sees at this step."""
        self._finished.clear()  # of the step before, where nobody took them
        listed = {one.name: self._entry(one) for one in self.step().definitions}
        named = (name for name in self._named if name not in listed and self.toolbox.find(name))
        return listed | {name: self._entry(ToolDefinition(name=name, strict=False)) for name in named}

    def step(self) -> Step:
        """What the model sees now; made anew only when the visible tools or their guidance changed."""
        toolbox = self.toolbox
        tools = toolbox.visible()  # the same tuple while nothing changes
        guidance = self._guidance.texts(tools) if self._guidance is not None else ()
        if self._step is None or self._step.tools is not tools or self._step.guidance != guidance:
            notes = protocol_notes(tools, self._guidance)
            self._step = Step(tools, guidance, self._definitions.of(toolbox, tools), notes)
        return self._step

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> list[InstructionPart]:
        """The protocols of the tools that are visible now and, in compact mode, the list of all tools."""
        appends = delivery_for(wire_of(ctx.model), self._delivery) is Delivery.APPEND
        step = self.step()
        protocols = step.appended_protocols if appends else step.protocols
        parts = [InstructionPart(protocols, name=PROTOCOLS, on_change="append" if appends else "rewrite", dynamic=True)]
        if self.toolbox.mode is Mode.COMPACT:
            parts.insert(0, InstructionPart(self._tool_list(), name=TOOL_LIST))
        # An empty part that appends is given all the same: it is where the first change is measured from. Without it,
        # the first protocols would stand in the system prompt, and change its start in the middle of a conversation.
        return [part for part in parts if part.content or part.on_change == "append"]

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> str:
        """Call a tool. Whatever goes wrong becomes a failed result for the model, and never ends the run."""
        began = time.perf_counter()
        before = _model_call.set(ModelCall(ctx.tool_call_id or ""))
        try:
            result = await self._result(name, raw_arguments(tool_args), ctx)
        finally:
            _model_call.reset(before)
        took_ms = (time.perf_counter() - began) * 1_000
        if self._list_named and isinstance(found := result.value, Discovered):
            self._named = found.named
        call_id = ctx.tool_call_id or ""
        self._finished[call_id] = Call(id=call_id, name=name, arguments=dict(tool_args), result=result, took_ms=took_ms)
        if result.failed:
            raise ToolFailed(result.text)
        return result.text

    def take_finished(self, call_id: str) -> Call | None:
        """A call of this step with its whole result, once; Pydantic AI passes on only the text."""
        return self._finished.pop(call_id, None)

    async def _result(self, name: str, arguments: object, ctx: RunContext[AgentDepsT]) -> ToolResult:
        confirmed = False
        if self._consent is not None:
            arguments, confirmed = without_confirmed(arguments, self.toolbox.find(name))
        result = await self.toolbox.call(name, arguments, ctx.deps)
        pending = result.value
        if not isinstance(pending, PendingApproval):
            return result
        if ctx.tool_call_approved:  # by the application, which asked the user
            consent = pending.approve()
        elif self._consent is not None:
            consent = await self._consent(pending, confirmed)
        elif self._deferred:
            raise ApprovalRequired(metadata={"tool": pending.tool, "reason": pending.reason})
        else:
            return result
        if isinstance(consent, ToolResult):
            return consent
        # A surface's tool may have asked for another one: what runs is what the user agreed to.
        return await self.toolbox.call(pending.tool, pending.arguments, ctx.deps, approved=consent)

    @property
    def toolbox(self) -> Toolbox:
        """The toolbox served; not before a run, where each run has its own."""
        assert isinstance(self._given, Toolbox), "Each run has a toolbox of its own; there is none outside of one."
        return self._given

    def _entry(self, definition: ToolDefinition) -> ToolsetTool[AgentDepsT]:
        return ToolsetTool(
            toolset=self, tool_def=definition, max_retries=_RETRIES, args_validator=PassThroughValidator()
        )

    def _tool_list(self) -> str:
        revision = self.toolbox.catalog.revision
        if self._listed[0] != revision:
            self._listed = (revision, f"<tools>\n{compact_list(self.toolbox.tools)}\n</tools>")
        return self._listed[1]
