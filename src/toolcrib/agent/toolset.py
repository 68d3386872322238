"""A catalog as a toolset of Pydantic AI: for our runner, and in three lines for anyone's agent.

    agent = Agent(model, toolsets=[CribToolset(catalog)])

Each run has a toolbox of its own, made of the message history: users share nothing, and any process can go on. Before
each step Pydantic AI asks what is visible now and how to use it; each call goes through the toolbox, so policy, repair
of arguments, time limits and confirmation hold here as everywhere else.
"""

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from types import UnionType
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, Union, Unpack, cast, get_args, get_origin

from pydantic_ai import Agent, DeferredToolRequests, RunContext
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import InstructionPart, ToolReturn
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, PreparedToolset, ToolsetTool, WrapperToolset
from pydantic_ai.toolsets._tool_search import ToolSearchToolset

from toolcrib.agent.confirmation import HistoryConfirmations
from toolcrib.agent.history import AGREED, ASKED, FOUND, replay, with_note
from toolcrib.agent.models import wire_of
from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.confirmation import Approval, PendingApproval, with_confirmed, without_confirmed
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.native import description, schema
from toolcrib.discovery.protocols import Delivery, Guidance, Note, delivery_for, notes_block, protocol_notes
from toolcrib.discovery.render import compact_list
from toolcrib.discovery.surfaces.search import search_surface
from toolcrib.discovery.tokens import compact_json, text_tokens
from toolcrib.discovery.toolbox import Inactive, Surface, Toolbox
from toolcrib.errors import ToolcribError
from toolcrib.policy.policy import Decision, Policy
from toolcrib.search.interface import SearchIndex
from toolcrib.tools.context import current_run, is_control
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

logger = logging.getLogger(__name__)

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
                include_return_schema=False,
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


def can_defer(ctx: RunContext[Any]) -> bool:
    """Whether the application can be asked in Pydantic AI's way: by the agent's output, or by a capability."""
    given = ctx.agent.output_type if ctx.agent is not None else None
    return DeferredToolRequests in _types(given) or any(
        isinstance(one, HandleDeferredToolCalls) for one in ctx.capabilities.values()
    )


def _types(output: object) -> Iterator[object]:
    if isinstance(output, list | tuple):
        for one in cast("Iterable[object]", output):
            yield from _types(one)
    elif get_origin(output) in (Union, UnionType):
        yield from get_args(output)
    else:
        yield output


def _lists_all(
    root: AbstractToolset[Any], own: ToolsetTool[Any], toolset: AbstractToolset[Any], ctx: RunContext[Any]
) -> bool:
    """Whether everything between the agent and a toolset lists what the toolset lists, under its own names.

    Pydantic AI's own tool search does, and so does the hook `prepare_tools` where no capability uses it.
    """
    node: object = root
    while node is not toolset:
        if isinstance(node, CombinedToolset):
            node, own = getattr(own, "source_toolset", None), getattr(own, "source_tool", own)
        elif isinstance(node, WrapperToolset):
            wrapper = cast(Any, node)  # pyright knows the class, and not of which dependencies
            if not _hides_nothing(wrapper, ctx):
                return False
            node = wrapper.wrapped
        else:
            return False
    return True


def _hides_nothing(wrapper: WrapperToolset[Any], ctx: RunContext[Any]) -> bool:
    if isinstance(wrapper, PreparedToolset) and wrapper.prepare_func.__module__ == Agent.__module__:
        hooks = (type(one).prepare_tools for one in ctx.capabilities.values())
        return all(hook is AbstractCapability[Any].prepare_tools for hook in hooks)
    return type(wrapper).get_tools is WrapperToolset[Any].get_tools or isinstance(wrapper, ToolSearchToolset)


class UnlistedTools(dict[str, ToolsetTool[Any]]):
    """The tools of one step; whoever asks for another one of the toolbox by its name gets it, too.

    Only what is listed is sent to the model. Pydantic AI looks here for what it called.
    """

    def __init__(self, listed: Mapping[str, ToolsetTool[Any]], own: ToolsetTool[Any], toolbox: Toolbox) -> None:
        super().__init__(listed)
        self._own = own
        self._toolbox = toolbox

    def get(self, key: str, default: Any = None, /) -> Any:
        if key in self or self._toolbox.find(key) is None:
            return super().get(key, default)
        # A copy of an entry of ours: Pydantic AI wraps them, and finds the way back by that.
        definition = ToolDefinition(name=key, toolset_id=self._own.tool_def.toolset_id)
        return replace(self._own, tool_def=definition)


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


class ToolboxOptions(TypedDict, total=False):
    """What the toolbox of each run is made with; the defaults are those of `Toolbox`, with the surface search."""

    policy: Policy
    role: str | None
    pinned: Iterable[str]
    surface: Surface | None
    mode: Mode | str
    inactive: Inactive
    budget_tokens: int
    idle_turns: int | None
    timeout_seconds: float | None


class CribToolset(AbstractToolset[AgentDepsT]):
    """The tools of a catalog, as they are visible from step to step."""

    def __init__(
        self,
        tools: Catalog | Toolbox | Toolboxes[AgentDepsT],
        index: SearchIndex | None = None,
        *,
        id: str = "toolcrib",
        delivery: Delivery | str = Delivery.AUTO,
        guidance: Guidance | None = None,
        deferred: bool | None = None,
        consent: Confirmer | None = None,
        list_named: bool = True,
        **options: Unpack[ToolboxOptions],
    ) -> None:
        """Serve a catalog.

        Args:
            tools: A catalog: each run gets a toolbox of its own, brought to where its message history left it. Or a
                toolbox, for one conversation; or a function that gives the toolbox of a run, by its `deps`.
            index: The index of the catalog; made at the first run unless given.
            id: Its name among the agent's toolsets.
            delivery: How the model learns of changed protocols.
            guidance: What there is to know about whole categories.
            deferred: Whether calls that need the user's yes end the run with `DeferredToolRequests`, Pydantic AI's way
                to ask. Left out: if the agent's `output_type` has it, or a capability handles it. Otherwise the model
                asks in words: a call with `confirmed: true` counts after the user answered the question, once.
            consent: Decides in place of these rules whether the user confirmed a call.
            list_named: Whether tools that the last search only named stand in the list by their names, without
                arguments. The first call of one brings its definition.
            options: Of the toolboxes that are made of a catalog, such as `policy`, `role` and `pinned`.
        """
        if not isinstance(tools, Catalog | Toolbox) and not callable(tools):
            raise ToolcribError(
                f"{tools!r:.80} is no catalog and no toolbox.", hint="Write `CribToolset(catalog)`, with a `Catalog`."
            )
        if not isinstance(tools, Catalog) and (index is not None or options):
            given = ", ".join([*(["index"] if index is not None else []), *options])
            raise ToolcribError(f"The toolbox has its own {given}.", hint="Give them to `Toolbox`.")
        if isinstance(tools, Toolbox) and not tools.visible() and tools.tools:
            logger.warning("The model sees no tools: the toolbox has no surface. Use CribToolset(catalog).")
        self._given = tools
        self._index = index
        self._options = options
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
        toolbox = self._toolbox_of(ctx)
        if ctx.prompt is not None:
            toolbox.begin_turn()
        if toolbox is self._given and self._consent is not None:
            return self
        deferred = can_defer(ctx) if self._deferred is None else self._deferred
        consent = self._consent
        if consent is None and not deferred:
            consent = HistoryConfirmations(ctx.messages, ctx.prompt)
        return CribToolset(
            toolbox,
            id=self._id,
            delivery=self._delivery,
            guidance=self._guidance,
            deferred=deferred,
            consent=consent,
            list_named=self._list_named,
        )

    def _toolbox_of(self, ctx: RunContext[AgentDepsT]) -> Toolbox:
        if isinstance(self._given, Toolbox):
            return self._given
        if not isinstance(self._given, Catalog):
            return self._given(ctx)
        if self._index is None:
            from toolcrib.search.index import ToolIndex  # late: numpy, which only a search needs

            self._index = ToolIndex(self._given)
        options: ToolboxOptions = {"surface": search_surface, **self._options}
        toolbox = Toolbox(self._given, self._index, **options)
        replay(toolbox, ctx.messages)
        return toolbox

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """What the model sees at this step."""
        self._finished.clear()  # of the step before, where nobody took them
        listed = {one.name: self._entry(one) for one in self.step().definitions}
        named = (name for name in self._named if name not in listed and self.toolbox.find(name))
        return listed | {
            name: self._entry(ToolDefinition(name=name, strict=False, include_return_schema=False)) for name in named
        }

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
        self._open_unlisted(ctx)
        # An empty part that appends is given all the same: it is where the first change is measured from. Without it,
        # the first protocols would stand in the system prompt, and change its start in the middle of a conversation.
        return [part for part in parts if part.content or part.on_change == "append"]

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> ToolReturn:
        """Call a tool. Whatever goes wrong becomes a failed result for the model, and never ends the run."""
        began = time.perf_counter()
        active = set(self.toolbox.active)
        outer = _model_call.set(ModelCall(ctx.tool_call_id or ""))
        try:
            result, agreed = await self._result(name, raw_arguments(tool_args), ctx)
        finally:
            _model_call.reset(outer)
        took_ms = (time.perf_counter() - began) * 1_000
        if self._list_named and isinstance(found := result.value, Discovered):
            self._named = found.named
        call_id = ctx.tool_call_id or ""
        self._finished[call_id] = Call(id=call_id, name=name, arguments=dict(tool_args), result=result, took_ms=took_ms)
        if isinstance(result.value, BaseException) and is_control(result.value):
            raise result.value
        if result.failed:
            raise ToolFailed(result.text)
        note: dict[str, Any] = {AGREED: agreed} if agreed else {}
        if isinstance(result.value, PendingApproval):
            note[ASKED] = {result.value.digest: result.value.tool}
        if found := self._found(name, result, active):
            note[FOUND] = found
        native: object = result.native
        if isinstance(native, ToolReturn):
            given = cast("ToolReturn[Any]", native)
            return replace(given, metadata=with_note(given.metadata, note))
        value: Any = result.text if native is None else native
        return ToolReturn(return_value=value, metadata=with_note(None, note))

    def take_finished(self, call_id: str) -> Call | None:
        """A call of this step with its whole result, once; Pydantic AI passes on only the text."""
        return self._finished.pop(call_id, None)

    def _found(self, name: str, result: ToolResult, before: set[str]) -> list[str]:
        """What a tool of the surface handed over."""
        if name not in {tool.name for tool in self.toolbox.surface}:
            return []
        if isinstance(result.value, Discovered):
            return list(result.value.tools)
        return [one for one in self.toolbox.active if one not in before]

    async def _result(self, name: str, arguments: object, ctx: RunContext[AgentDepsT]) -> tuple[ToolResult, str | None]:
        """What a call came to, and the digest of what the user agreed to for it."""
        confirmed = False
        if self._consent is not None:
            arguments, confirmed = without_confirmed(arguments, self.toolbox.find(name))
        result = await self._called(name, arguments, ctx)
        pending = result.value
        if isinstance(pending, ApprovalRequired) and not self._deferred:  # the tool itself asks
            sent = cast("Mapping[str, Any]", arguments) if isinstance(arguments, Mapping) else dict[str, Any]()
            pending = PendingApproval.of(name, sent)
        if not isinstance(pending, PendingApproval):
            return result, None
        if ctx.tool_call_approved:  # by the application, which asked the user
            consent = pending.approve()
        elif self._consent is not None:
            consent = await self._consent(pending, confirmed)
        elif self._deferred:
            raise ApprovalRequired(metadata={"tool": pending.tool, "reason": pending.reason})
        else:
            return pending.as_result(), None
        if isinstance(consent, ToolResult):
            return consent, None
        # A surface's tool may have asked for another one: what runs is what the user agreed to.
        approved = replace(ctx, tool_call_approved=True)
        return await self._called(pending.tool, pending.arguments, approved, consent), consent.digest

    async def _called(
        self, name: str, arguments: object, ctx: RunContext[AgentDepsT], approved: Approval | None = None
    ) -> ToolResult:
        token = current_run.set(ctx)
        try:
            return await self.toolbox.call(name, arguments, ctx.deps, approved=approved)
        finally:
            current_run.reset(token)

    def _open_unlisted(self, ctx: RunContext[AgentDepsT]) -> None:
        """Let the model call tools of the toolbox that are not listed: those that left, and those it knows by name."""
        manager = ctx.tool_manager
        if manager is None or manager.tools is None or isinstance(manager.tools, UnlistedTools):
            return
        own = next((one for one in manager.tools.values() if one.toolset is self), None)
        # Inside a wrapper that filters or renames, only what it lists can be called.
        if own is not None and _lists_all(manager.toolset, own, self, ctx):
            manager.tools = UnlistedTools(manager.tools, own, self.toolbox)

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
