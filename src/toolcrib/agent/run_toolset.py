"""The toolset of one run: what is visible in a toolbox from step to step, and how its tools are called."""

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, cast

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import InstructionPart, ToolReturn
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.toolsets import (
    AbstractToolset,
    CombinedToolset,
    DynamicToolset,
    IncludeReturnSchemasToolset,
    PrefixedToolset,
    PreparedToolset,
    RenamedToolset,
    SetMetadataToolset,
    ToolsetTool,
    WrapperToolset,
)
from pydantic_ai.toolsets._tool_search import ToolSearchToolset

from toolcrib.agent.confirmation import HistoryConfirmations
from toolcrib.agent.definitions import Definitions, PassThroughValidator, Step, name_only, raw_arguments
from toolcrib.agent.history import AGREED, ASKED, FOUND, PROGRAM, replay, with_note
from toolcrib.agent.models import appends_changes
from toolcrib.discovery.confirmation import Approval, PendingApproval, without_confirmed
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.program.paused import RUN_CODE
from toolcrib.discovery.protocols import Delivery, Guidance, protocol_notes
from toolcrib.discovery.render import compact_list
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.tools.context import current_run, is_control
from toolcrib.tools.result import ToolResult
from toolcrib.tools.schema import mapping
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from toolcrib.sources.toolset import RunToolsets

# Programs that wait for the answer to a deferred call, by its id, for applications that do not give them back.
_waiting: dict[str, Mapping[str, Any]] = {}
_MOST_WAITING = 100

PROTOCOLS = "active-protocols"
TOOL_LIST = "tools"


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


class RunToolset(AbstractToolset[AgentDepsT]):
    """The tools of one toolbox, for one run or, with a `consent` that outlives it, for a session."""

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        id: str = "toolcrib",
        delivery: Delivery | str = Delivery.AUTO,
        guidance: Guidance | None = None,
        deferred: bool = False,
        consent: Confirmer | None = None,
        replays: bool = False,
        list_named: bool = True,
    ) -> None:
        """Serve a toolbox.

        Args:
            toolbox: Whose tools are served.
            id: Its name among the agent's toolsets.
            delivery: How the model learns of changed protocols.
            guidance: What there is to know about whole categories.
            deferred: Whether calls that need the user's yes end the run with `DeferredToolRequests`.
            consent: Decides whether the user confirmed a call; by the message history, unless given or deferred.
            replays: Whether the toolbox is new, and has to be brought to where the message history left it.
            list_named: Whether tools that the last search only named stand in the list by their names, without
                arguments. The first call of one brings its definition.
        """
        self.toolbox = toolbox
        self.history_is_cut = False  # whether old messages left it with this turn
        self._id = id
        self._delivery = Delivery(delivery)
        self._appends: bool | None = None  # known when the first step asks, and the same in all of them
        self._guidance = guidance
        self._deferred = deferred
        self._consent = consent
        self._replays = replays
        toolbox.programs.in_history = not toolbox.programs.owner  # which a client may have written
        self._list_named = list_named
        self._toolsets: RunToolsets | None = None  # of the catalog, if it has any
        self._begun = False
        self._path: NamePath = ()
        self._named: tuple[str, ...] = ()  # by the last search
        self._finished: dict[str, Call] = {}
        self._definitions = Definitions(confirmable=not deferred)
        self._step: Step | None = None
        self._listed: tuple[int, str] = (-1, "")  # the list of compact mode, and the revision it was made for

    @property
    def id(self) -> str:
        return self._id

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> "RunToolset[AgentDepsT]":
        """This toolset. A run with a prompt is a turn of the user: it makes room in a toolbox that outlives it."""
        if ctx.prompt is not None and not self._replays:
            self.toolbox.begin_turn(cut=self.history_is_cut)
        if sources := self.toolbox.catalog.toolsets:
            from toolcrib.sources.toolset import RunToolsets  # late, because most catalogs have none

            self._toolsets = RunToolsets(sources)
            await self._toolsets.begin(ctx)
        return self

    async def __aenter__(self) -> Self:
        if self._toolsets is not None:
            await self._toolsets.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._toolsets is not None:
            await self._toolsets.__aexit__(*error)

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """What the model sees at this step."""
        if self._toolsets is not None:
            hidden = await self._toolsets.hidden(ctx)
            self.toolbox.hide(hidden, unreachable=self._toolsets.failed)
        self._begin(ctx)
        self._finished.clear()  # of the step before, where nobody took them
        step = self.step()
        visible = zip(step.definitions, step.tools, strict=True)
        listed = {definition.name: self._entry(definition, tool, ctx) for definition, tool in visible}
        named = ((name, self.toolbox.find(name)) for name in self._named if name not in listed)
        return listed | {
            name: self._entry(name_only(name, tool), tool, ctx) for name, tool in named if tool is not None
        }

    def _begin(self, ctx: RunContext[AgentDepsT]) -> None:
        """Read the history, once: here it has the user's message, and the names that wrappers give are known."""
        if self._begun:
            return
        self._begun = True
        self._path = name_path(ctx)
        if self._replays:
            replay(self.toolbox, ctx.messages, self._own_name)
        if self._consent is None and not self._deferred:
            self._consent = HistoryConfirmations(ctx.messages, self.toolbox, self._own_name)

    def _own_name(self, name: str) -> str | None:
        """The name in the toolbox of what the model calls `name`; None for tools of other toolsets."""
        own = own_name(name, self._path)
        if own is None or own in {tool.name for tool in self.toolbox.surface}:
            return own
        found = self.toolbox.find(own)
        return found.name if found is not None else None

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
        if self._appends is None:
            self._appends = appends_changes(ctx.model, self._delivery)
        appends = self._appends
        step = self.step()
        protocols = step.appended_protocols if appends else step.protocols
        parts = [InstructionPart(protocols, name=PROTOCOLS, on_change="append" if appends else "rewrite", dynamic=True)]
        if self.toolbox.mode is Mode.COMPACT:
            parts.insert(0, InstructionPart(self._tool_list(), name=TOOL_LIST))
        if self._toolsets is not None:
            instructions = await self._toolsets.instructions(ctx, step.tools)
            change = "append" if appends else "rewrite"
            parts += [InstructionPart(text, name=name, on_change=change, dynamic=True) for name, text in instructions]
        self.open_unlisted(ctx, self)
        # An empty part that appends is given all the same: it is where the first change is measured from. Without it,
        # the first protocols would stand in the system prompt, and change its start in the middle of a conversation.
        return [part for part in parts if part.content or part.on_change == "append"]

    def open_unlisted(self, ctx: RunContext[AgentDepsT], toolset: AbstractToolset[AgentDepsT]) -> None:
        """Let the model call tools of the toolbox that are not listed: those that left, and those it knows by name.

        `toolset` is what the agent holds. Inside a wrapper that hides some of its tools, only the others can be called.
        """
        manager = ctx.tool_manager
        if manager is None or manager.tools is None or isinstance(manager.tools, UnlistedTools):
            return
        own = next((one for one in manager.tools.values() if lists_all(manager.toolset, one, toolset, ctx)), None)
        if own is not None:
            manager.tools = UnlistedTools(manager.tools, own, lambda name: self._unlisted(name, ctx))

    def _unlisted(self, name: str, ctx: RunContext[AgentDepsT]) -> ToolsetTool[AgentDepsT] | None:
        own = self._own_name(name)
        if own is None:
            return None
        tool = self.toolbox.find(own)
        return self._entry(name_only(own, tool), tool, ctx)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> ToolReturn:
        """Call a tool. Whatever goes wrong becomes a failed result for the model, and never ends the run."""
        self._begin(ctx)
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
            if result.value.pause is not None and self.toolbox.programs.in_history:
                note[PROGRAM] = dict(result.value.pause.stored)
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
        """The tools that a call of a discovery tool handed over, or showed again."""
        toolbox = self.toolbox
        shown = result.value.tools if isinstance(result.value, Discovered) else ()
        # Also one that was active already counts as found in this turn: so it does when the history is read.
        toolbox.activate(again := [one for one in shown if toolbox.is_active(one)])
        return list(dict.fromkeys([*again, *(one for one in toolbox.active if one not in before and one != name)]))

    async def _result(self, name: str, arguments: object, ctx: RunContext[AgentDepsT]) -> tuple[ToolResult, str | None]:
        """The result of a call, and the digest of the call that the user approved, if any."""
        confirmed = False
        if self._consent is not None:
            arguments, confirmed = without_confirmed(arguments, self.toolbox.find(name))
        is_approved, agreed = ctx.tool_call_approved, None  # by the application, which asked the user
        if is_approved and name == RUN_CODE:  # a program that ran up to the question must not begin again
            arguments = {"resume": self._waiting_program(ctx)}
        result = await self._called(name, arguments, ctx)
        while True:  # a program may ask more than once
            pending = result.value
            if isinstance(pending, ApprovalRequired) and not self._deferred:  # the tool itself asks
                sent = cast("Mapping[str, Any]", arguments) if isinstance(arguments, Mapping) else dict[str, Any]()
                pending = PendingApproval.of(name, sent)
            if not isinstance(pending, PendingApproval):
                return result, agreed
            if is_approved:
                consent: Approval | ToolResult = pending.approve()
            elif self._consent is not None:
                consent = await self._consent(pending, confirmed)
            else:
                raise ApprovalRequired(metadata=self._question(pending, ctx))
            if isinstance(consent, ToolResult):
                return consent, agreed
            # A surface's tool may have asked for another one: what runs is what the user agreed to. Within a program
            # that is one call of it, which says so itself.
            approved = replace(ctx, tool_call_approved=pending.pause is None)
            result = await self._called(*pending.next_call, approved, consent)
            agreed, is_approved, confirmed = consent.digest, False, False
            if pending.pause is None:
                return result, agreed

    def _question(self, pending: PendingApproval, ctx: RunContext[AgentDepsT]) -> dict[str, Any]:
        """What the application gets with a deferred call, and gives back with the answer."""
        question: dict[str, Any] = {"tool": pending.tool, "reason": pending.reason}
        if pending.pause is not None:
            question |= {"arguments": dict(pending.arguments), PROGRAM: pending.pause.stored}
            _waiting[ctx.tool_call_id or ""] = pending.pause.stored
            while len(_waiting) > _MOST_WAITING:
                del _waiting[next(iter(_waiting))]
        return question

    def _waiting_program(self, ctx: RunContext[AgentDepsT]) -> str:
        """The program that waits at a deferred call: as the application gives it back, or as it is known here."""
        given = mapping(mapping(ctx.tool_call_metadata).get(PROGRAM)) or _waiting.pop(ctx.tool_call_id or "", None)
        self.toolbox.programs.hold(given)
        return str(mapping(given).get("id", "unknown"))

    async def _called(
        self, name: str, arguments: object, ctx: RunContext[AgentDepsT], approved: Approval | None = None
    ) -> ToolResult:
        token = current_run.set(ctx)
        try:
            with self._toolsets.calling() if self._toolsets is not None else nullcontext():
                return await self.toolbox.call(name, arguments, ctx.deps, approved=approved)
        finally:
            current_run.reset(token)

    def _entry(
        self, definition: ToolDefinition, tool: Tool | None, ctx: RunContext[AgentDepsT]
    ) -> ToolsetTool[AgentDepsT]:
        retries = tool.retries if tool is not None else None
        if tool is not None and self._toolsets is not None:
            retries = self._toolsets.max_retries(tool) if retries is None else retries
        return ToolsetTool(
            toolset=self,
            tool_def=definition,
            max_retries=ctx.max_retries if retries is None else retries,
            args_validator=PassThroughValidator(),
        )

    def _tool_list(self) -> str:
        revision = self.toolbox.catalog.revision
        if self._listed[0] != revision:
            self._listed = (revision, f"<tools>\n{compact_list(self.toolbox.tools)}\n</tools>")
        return self._listed[1]


# The names by which a model calls the tools: wrappers of Pydantic AI prefix and rename them.

# What the wrappers do to a name, the outermost first: put a prefix before it, or exchange it.
NamePath: TypeAlias = tuple[str | Mapping[str, str], ...]

_HIDES_NOTHING = (
    PrefixedToolset,
    RenamedToolset,
    SetMetadataToolset,
    IncludeReturnSchemasToolset,
    ToolSearchToolset,  # holds back what is marked for it, and we mark nothing
)


def name_path(ctx: RunContext[Any]) -> NamePath:
    """What the wrappers around a toolset do to its names; known while tools are listed."""
    return getattr(ctx, "_tool_name_path", ())


def own_name(name: str, path: NamePath) -> str | None:
    """The toolset's own name for what the model calls `name`; None if it can have none of that name."""
    for layer in path:
        if isinstance(layer, str):
            if not name.startswith(f"{layer}_"):
                return None
            name = name.removeprefix(f"{layer}_")
        else:
            originals = {new: original for original, new in layer.items()}
            if name in layer and name not in originals:
                return None  # it has another name now
            name = originals.get(name, name)
    return name


class UnlistedTools(dict[str, ToolsetTool[Any]]):
    """The tools of one step; whoever asks for another one of the toolset by its name gets it, too.

    Only what is listed is sent to the model. Pydantic AI looks here for what it called.
    """

    def __init__(
        self,
        listed: Mapping[str, ToolsetTool[Any]],
        own: ToolsetTool[Any],
        unlisted: Callable[[str], ToolsetTool[Any] | None],
    ) -> None:
        super().__init__(listed)
        self._own = own
        self._unlisted = unlisted

    def get(self, key: str, default: Any = None, /) -> Any:
        found = None if key in self else self._unlisted(key)
        if found is None:
            return super().get(key, default)
        # A copy of an entry of ours: Pydantic AI wraps them, and finds the way back by that.
        definition = replace(found.tool_def, name=key, toolset_id=self._own.tool_def.toolset_id)
        return replace(self._own, tool_def=definition, max_retries=found.max_retries)


def lists_all(
    root: AbstractToolset[Any], own: ToolsetTool[Any], toolset: AbstractToolset[Any], ctx: RunContext[Any]
) -> bool:
    """Whether all wrappers between the agent and a toolset list what the toolset lists, if under other names."""
    node: object = root
    while node is not toolset:
        if isinstance(node, CombinedToolset):
            node, own = getattr(own, "source_toolset", None), getattr(own, "source_tool", own)
        elif isinstance(node, WrapperToolset):
            wrapper = cast(Any, node)  # pyright knows the class, and not of which dependencies
            if not _hides_nothing(wrapper, ctx):
                return False
            node = wrapper.wrapped
        elif isinstance(node, DynamicToolset):
            node = getattr(cast(Any, node), "_toolset", None)  # what its function gave
        else:
            return False
    return True


def _hides_nothing(wrapper: WrapperToolset[Any], ctx: RunContext[Any]) -> bool:
    if type(wrapper) in _HIDES_NOTHING:
        return True
    if isinstance(wrapper, PreparedToolset) and wrapper.prepare_func.__module__ == Agent.__module__:
        # The hook `prepare_tools` of capabilities: it hides nothing where none of them uses it.
        hooks = (type(one).prepare_tools for one in ctx.capabilities.values())
        return all(hook is AbstractCapability[Any].prepare_tools for hook in hooks)
    return type(wrapper).get_tools is WrapperToolset[Any].get_tools
