"""One session's view of a catalog: what the model sees at each step, and the one way to call what it names."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from weakref import WeakKeyDictionary

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery import render as refusals
from toolcrib.discovery.arguments import Repaired, repair_arguments
from toolcrib.discovery.confirmation import (
    Approval,
    Ask,
    PendingApproval,
    Questions,
    with_confirmed,
    without_confirmed,
)
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.modes import Mode
from toolcrib.discovery.native import (
    ModelCall,
    anthropic_search_result,
    anthropic_tools,
    chat_tools,
    definition,
    responses_search_output,
    responses_tools,
    schema,
)
from toolcrib.discovery.program.paused import RUN_CODE, Programs
from toolcrib.discovery.tokens import definition_tokens
from toolcrib.discovery.visibility import visibility_for
from toolcrib.errors import NativeFormError, SessionLostError, SnapshotError, UnknownToolError
from toolcrib.policy.policy import Decision, Policy, Verdict
from toolcrib.search.interface import SearchIndex
from toolcrib.search.result import SearchResult
from toolcrib.tools.context import CurrentCall, approved_call, asks_first, current_run, is_control, within_call
from toolcrib.tools.result import ToolResult
from toolcrib.tools.schema import mapping
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from toolcrib.discovery.program.run import ProgramCall

VERSION = 1  # of snapshots
MOST_NAMES = 1_000  # active ones, with those of tools that are gone: far more than fit into a prompt


class ActiveTools:
    """The names of the active tools, in the order of their first activation and in the order of their last use.

    Whether a tool still exists and may be seen is checked where it is shown. So a tool whose source was away for a
    while is active again when the source comes back, and takes its old place.
    """

    def __init__(
        self,
        active: Iterable[str] = (),
        used: Iterable[str] = (),
        idle: Mapping[str, int] | None = None,
        called: Iterable[str] = (),
    ) -> None:
        self._active = dict.fromkeys(active)  # a set that keeps its order: that of the first activation
        self._by_use = dict.fromkeys(self._active, 0)  # the last one was used last; with the turns begun since
        for name in used:
            self.use(name)
        for name, turns in (idle or {}).items():
            if name in self._by_use:
                self._by_use[name] = turns
        self._called = {name for name in called if name in self._active}  # in this turn

    @property
    def names(self) -> tuple[str, ...]:
        """The active names, first activated first."""
        return tuple(self._active)

    def __contains__(self, name: str) -> bool:
        return name in self._active

    def add(self, name: str) -> bool:
        """Make a name active; returns whether it was not before."""
        fresh = name not in self._active
        self._active[name] = None
        self._by_use[name] = 0
        self.use(name)
        if len(self._active) > MOST_NAMES:
            self.drop(next(iter(self._by_use)))
        return fresh

    def use(self, name: str) -> None:
        """Mark an active tool as the most recently used."""
        if name in self._active:
            del self._by_use[name]
            self._by_use[name] = 0

    def call(self, name: str) -> None:
        """Mark an active tool as called in this turn."""
        self.use(name)
        if name in self._active:
            self._called.add(name)

    def drop(self, name: str) -> None:
        """Make a name inactive."""
        self._active.pop(name, None)
        self._by_use.pop(name, None)
        self._called.discard(name)

    def shrink(self, sizes: Mapping[str, int], budget: int) -> tuple[str, ...]:
        """Drop the least recently used of the names in `sizes` until what they take is within the budget."""
        total = sum(sizes.values())
        dropped: list[str] = []
        for name in [name for name in self._by_use if name in sizes]:
            if total <= budget:
                break
            self.drop(name)
            dropped.append(name)
            total -= sizes[name]
        return tuple(dropped)

    def leave_idle(self, most_turns: int | None, *, cut: bool = False) -> tuple[str, ...]:
        """Begin a turn: drop the names that were neither found nor used in so many turns; None drops nothing.

        With `cut`, drop all that were not called in the last turn.
        """
        self._by_use = {name: turns + 1 for name, turns in self._by_use.items()}
        called, self._called = self._called, set[str]()
        if most_turns is None:
            return ()
        idle = tuple(name for name, turns in self._by_use.items() if turns > most_turns or (cut and name not in called))
        for name in idle:
            self.drop(name)
        return idle

    def snapshot(self) -> dict[str, Any]:
        """All of it as JSON."""
        idle = {name: turns for name, turns in self._by_use.items() if turns}
        held: dict[str, Any] = {"version": VERSION, "active": list(self._active), "used": list(self._by_use)}
        called = [name for name in self._active if name in self._called]
        return held | ({"idle": idle} if idle else {}) | ({"called": called} if called else {})

    @classmethod
    def restored(cls, snapshot: object) -> "ActiveTools":
        """What a snapshot holds."""
        if not isinstance(snapshot, Mapping):
            raise SnapshotError(f"{snapshot!r:.80} is not a snapshot of a toolbox.", hint=_HINT)
        fields = cast("Mapping[str, object]", snapshot)
        if (version := fields.get("version")) != VERSION:
            raise SnapshotError(f"The snapshot has version {version!r}, not {VERSION}.", hint=_HINT)
        called = _names(fields, "called") if "called" in fields else []
        return cls(_names(fields, "active"), _names(fields, "used"), _turns(fields.get("idle", {})), called)


_HINT = "Start with a new toolbox: the model finds its tools again by searching."


def _names(fields: Mapping[str, object], key: str) -> list[str]:
    names = fields.get(key)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[object]", names)):
        raise SnapshotError(f"The snapshot has no list of names under {key!r}.", hint=_HINT)
    return cast("list[str]", names)[:MOST_NAMES]


def _turns(idle: object) -> dict[str, int]:
    counts = cast("Mapping[str, object]", idle) if isinstance(idle, Mapping) else None
    if counts is None or not all(isinstance(turns, int) for turns in counts.values()):
        raise SnapshotError("The snapshot has no numbers of turns under 'idle'.", hint=_HINT)
    return {name: turns for name, turns in counts.items() if isinstance(turns, int)}


logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 60.0


Begin: TypeAlias = Callable[[Tool], Awaitable[CurrentCall]]


@dataclass(frozen=True, slots=True)
class Execution:
    """Runs the tools of one toolbox: with a time limit, and with whatever they raise as a failed result."""

    timeout_seconds: float | None = TIMEOUT_SECONDS
    # Called with the result of every tool that ran, also when another tool called it.
    watch: Callable[[Tool, ToolResult], None] | None = None
    # Called immediately before a tool; when it raises, the tool is not called.
    begin: "Begin | None" = None

    async def run(
        self, tool: Tool, arguments: Mapping[str, Any], context: object, *, limited: bool = True
    ) -> ToolResult:
        """Run a tool. One that calls others has no limit: each of those has, and its message says more."""
        own = self.timeout_seconds if tool.timeout is None else tool.timeout
        seconds = own if limited else None
        if self.begin is not None and limited:
            with within_call(await self.begin(tool)):
                result = await _outcome(tool, arguments, context, seconds)
        else:
            result = await _outcome(tool, arguments, context, seconds)
        if self.watch is not None:
            self.watch(tool, result)
        return result


async def _outcome(tool: Tool, arguments: Mapping[str, Any], context: object, seconds: float | None) -> ToolResult:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return ToolResult.of(await tool.call(arguments, context))
    except SessionLostError:  # of a call within this one: whoever runs us is no longer allowed to
        raise
    except Exception as error:  # foreign code: the tool
        if seconds is not None and limit.expired():
            return refusals.timed_out(tool.name, seconds)
        if is_control(error):
            return ToolResult.control(error)
        logger.error("Tool %r failed", tool.name, exc_info=error)
        return refusals.broken(tool.name, error)


EXECUTE_TOOL = "execute_tool"  # the tool of a surface that runs another one
RUNNERS = (EXECUTE_TOOL, RUN_CODE)  # the tools of surfaces that run others
Inactive: TypeAlias = Literal["activate", "refuse"]
Surface: TypeAlias = Callable[["Toolbox"], Iterable[Tool]]

BUDGET_TOKENS = 8_000  # of active definitions that may stay from one turn to the next
IDLE_TURNS = 10  # of the user, in which a tool is neither found nor used, before it leaves
SURE_ABOVE = 0.8  # confidence from which `preload` believes a search
NEAR_FIRST = 0.5  # and the share of the first hit's score from which it takes another one along
_DEFAULT_POLICY = Policy()
_STRICTEST_FIRST = (Decision.HIDE, Decision.DENY, Decision.ASK, Decision.ALLOW)

_warned_of: WeakKeyDictionary[Catalog, frozenset[str]] = WeakKeyDictionary()  # covered tools that a warning has named

# The toolbox that makes the present call: what a discovery tool finds becomes callable there, through its policy.
calling: ContextVar["Toolbox | None"] = ContextVar("calling", default=None)
# The user's answer that came with the present call, for a program that waits for it.
answer_given: ContextVar[Approval | None] = ContextVar("answer_given", default=None)


class Toolbox:
    """The tools of one session: those of the surface, the pinned ones, and the active ones.

    A toolbox belongs to one session and one event loop; several calls of one step may run at once. It is cheap: make
    one per session, over a catalog and an index that all sessions share. `surface` makes the tools by which a model
    finds others; they are no part of the catalog, and the policy does not touch them, only what they lead to. In
    direct mode there is no surface: every tool is visible from the start.
    """

    def __init__(
        self,
        catalog: Catalog,
        index: SearchIndex | None = None,
        *,
        policy: Policy = _DEFAULT_POLICY,
        role: str | None = None,
        pinned: Iterable[str] = (),
        surface: Surface | None = None,
        mode: Mode | str = Mode.DISCOVERY,
        inactive: Inactive = "activate",
        budget_tokens: int = BUDGET_TOKENS,
        idle_turns: int | None = IDLE_TURNS,
        timeout_seconds: float | None = TIMEOUT_SECONDS,
        size_of: Callable[[Tool], int] = definition_tokens,
        watch: Callable[[Tool, ToolResult], None] | None = None,
        begin: Begin | None = None,
        watch_program: "Callable[[ProgramCall], None] | None" = None,
    ) -> None:
        self.catalog = catalog
        self.policy = policy
        self.role = role
        self.pinned = tuple(dict.fromkeys(pinned))
        self.mode = Mode(mode)
        self._index = index
        self._hidden: frozenset[str] = frozenset()
        self._unreachable: frozenset[str] | None = None
        self._covered: frozenset[str] = frozenset()
        self._activation = ActiveTools()
        self._inactive: Inactive = inactive
        self._budget_tokens = budget_tokens
        self._idle_turns = idle_turns
        self._execution = Execution(timeout_seconds, watch, begin)
        self._size_of = size_of
        self._make_surface = surface
        self._surface: dict[str, Tool] = {}
        self._surface_revision = -1
        self._questions: Questions | None = None  # of a loop that tells what the user says
        self.programs = Programs()
        self._watch_program = watch_program
        self._look()
        self._renew_surface()

    # The tools

    def hide(self, names: Iterable[str], *, unreachable: Iterable[str] | None = None) -> None:
        """Let these tools be missing, and no others, whatever the policy says: what a toolset does not offer here.

        `unreachable` are the toolsets that offer nothing here because they failed, as sources; left out, as the
        catalog knows them.
        """
        self._unreachable = frozenset(unreachable) if unreachable is not None else None
        hidden = frozenset(names)
        if hidden == self._hidden:
            return
        self._hidden = hidden
        self._look()
        self._surface_revision = -1
        self._renew_surface()

    @property
    def unreachable(self) -> frozenset[str]:
        """The toolsets of the catalog, as sources, that offer nothing now because they failed."""
        if self._unreachable is not None:
            return self._unreachable
        return frozenset(one.name for one in self.catalog.toolsets if one.failed)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Every tool of the catalog that the caller may know of, in the catalog's order."""
        return self._visibility.tools

    def categories(self) -> dict[str, int]:
        """How many of those tools each category has; tools without one are not counted."""
        return dict(Counter(tool.category for tool in self.tools if tool.category))

    def find(self, name: str) -> Tool | None:
        """The tool of this name; None if there is none, or none that the caller may know of.

        It may be in a registry of its own that a discovery tool of this toolbox reveals; the catalog comes first.
        """
        return self._visibility.find(name) or self._revealed(name)

    def verdict(self, tool: Tool) -> Verdict:
        """What may happen with a tool, and why; where its registry has a policy of its own, the stricter counts."""
        own = self._visibility.decide(tool)
        if self._visibility.find(tool.name) is not None:
            return own
        holders = (one for one in self._registries() if one.get(tool.name) is tool and hasattr(one, "verdict"))
        verdicts: list[Verdict] = [own, *(one.verdict(tool) for one in holders)]
        return min(verdicts, key=lambda verdict: _STRICTEST_FIRST.index(verdict.decision))

    def may_call(self, tool: Tool) -> bool:
        """Whether a call can succeed, if need be after the user's yes."""
        return self.verdict(tool).decision is not Decision.DENY

    def search(self, query: str, *, limit: int = 5) -> SearchResult:
        """The tools that serve a request, among those the caller may know of. Nothing becomes active."""
        return self._searched.search(query, limit=limit)

    async def search_async(self, query: str, *, limit: int = 5, abstain: bool = True) -> SearchResult:
        """The same from an event loop; without `abstain` there are hits, too, when probably no tool fits."""
        if abstain:
            return await self._searched.search_async(query, limit=limit)
        from toolcrib.search.query import SearchOptions  # late: numpy, which only a search needs

        return await self._searched.search_async(query, limit=limit, options=SearchOptions(abstain=False))

    @property
    def index(self) -> SearchIndex:
        """The index searched; made at the first search if none was given."""
        if self._index is None:
            from toolcrib.search.index import ToolIndex  # late: numpy, which only a search needs

            self._index = ToolIndex(self.catalog)
        return self._index

    @property
    def _searched(self) -> SearchIndex:
        """The index of what this caller may know of: what is hidden moves no score."""
        return self.index if self._where is None else self.index.only(self._where)

    # What the model sees

    @property
    def surface(self) -> tuple[Tool, ...]:
        """The tools by which the model finds others."""
        return tuple(self._surface.values())

    @property
    def is_fixed(self) -> bool:
        """Whether a tool of the surface runs the others: then the list of tools never grows by what is called."""
        return any(name in self._surface for name in RUNNERS)

    @property
    def active(self) -> tuple[str, ...]:
        """The active tools in the order of their first activation; pinned ones are not among them."""
        return tuple(tool.name for tool in self._now().active)

    def is_active(self, name: str) -> bool:
        """Whether the model sees this tool's definition now."""
        return name in self._now().names

    def visible(self) -> tuple[Tool, ...]:
        """What stands in the request of the next step: the surface, then pinned, then active tools.

        The order never changes while tools stay, so that a provider's prompt cache holds. While nothing changes, it is
        the same tuple: what is made of it can be kept.
        """
        return self._now().tools

    def activate(self, names: Iterable[str]) -> tuple[str, ...]:
        """Let the model see these tools from the next step on; gives those that it did not see before.

        Names that the caller may not know of, or not call, are passed over.
        """
        pinned = {tool.name for tool in self._callable(self.pinned)}
        found = [tool.name for tool in self._callable(names) if tool.name not in pinned]
        return tuple(name for name in found if self._activation.add(name))

    def begin_turn(self, text: str | None = None, *, cut: bool = False) -> tuple[str, ...]:
        """Make room at the start of a user's turn: idle tools and the least recently used over the budget go.

        Gives those that went; each can still be called by its name. Only here, because within a turn it would break the
        prompt cache and take away what the model just found. A surface that depends on what the catalog holds changes
        here too, if the catalog did.

        Args:
            text: What the user says: `handle` reads in it whether they agreed to a call.
            cut: Whether old messages left the history now. The prompt cache is lost anyway, so all tools go that were
                not called in the turn before; later it would be lost for them alone.
        """
        if text is not None:
            self._questions = self._questions or Questions()
            self._questions.begin_turn(text)
        self._renew_surface()
        idle = self._activation.leave_idle(self._idle_turns, cut=cut)
        sizes = {tool.name: self._size_of(tool) for tool in self._now().active}
        return (*idle, *self._activation.shrink(sizes, self._budget_tokens))

    def mark_used(self, name: str) -> None:
        """Note that the model called a tool: it is active from now on, unless the surface runs tools itself."""
        if not self.is_active(name) and not self.is_fixed and self._inactive == "activate":
            self.activate([name])
        self._activation.call(name)

    async def preload(self, user_text: str, budget_tokens: int) -> tuple[str, ...]:
        """Activate what surely serves the user's own words, for models that forget to search; gives what is new."""
        found = await self.search_async(user_text)
        if found.confidence < SURE_ABOVE:
            return ()
        near_first = [hit.name for hit in found.hits if hit.score >= found.hits[0].score * NEAR_FIRST]
        chosen: list[str] = []
        for tool in self._callable(near_first):
            size = 0 if self.is_active(tool.name) else self._size_of(tool)
            if size <= budget_tokens:
                budget_tokens -= size
                chosen.append(tool.name)
        return self.activate(chosen)

    # Calls

    async def call(
        self, name: str, arguments: object, context: object = None, *, approved: Approval | None = None
    ) -> ToolResult:
        """Call a tool for the model. Every refusal and every failure is a failed result; only cancellation raises.

        A tool that needs the user's yes gives a result whose value is a `PendingApproval`, and nothing has happened.
        """
        tool = self._surface.get(name) or self.find(name)
        if tool is None:
            return refusals.unknown(name, [*self.surface, *self._known()], self._finder)
        name = tool.name  # also where it was given as `category.name`
        verdict = Verdict(Decision.ALLOW) if name in self._surface else self.verdict(tool)
        if verdict.decision is Decision.DENY:
            return refusals.denied(name, verdict.reason)
        # What the user agreed to needs no second search.
        if self._inactive == "refuse" and approved is None and not self.is_active(name):
            return refusals.inactive(name, self._finder)
        self.mark_used(name)
        given = repair_arguments(tool, arguments)
        if not isinstance(given, Repaired):
            return ToolResult.failure(given)
        if verdict.decision is Decision.ASK:
            pending = PendingApproval.of(name, given.arguments, verdict.reason)
            if approved is None:
                return pending.as_result()
            if approved != pending.approve():
                return refusals.other_approval(name)
        agreed = approved is not None and approved == PendingApproval.of(name, given.arguments).approve()
        token, answered = calling.set(self), answer_given.set(approved)
        try:
            with approved_call(agreed):
                limited = name not in self._surface
                result = await self._execution.run(tool, given.arguments, context, limited=limited)
        finally:
            calling.reset(token)
            answer_given.reset(answered)
        if asks_first(result.value) and current_run.get() is None:  # Pydantic AI asks by itself
            return PendingApproval.of(name, given.arguments, "it asks before this call").as_result()
        return result

    def tell_call(self, call: "ProgramCall") -> None:
        """Tell whoever watches about a call that a program makes."""
        if self._watch_program is not None:
            self._watch_program(call)

    # In a loop of your own: definitions and results as plain JSON

    def openai_tools(self) -> list[dict[str, Any]]:
        """`tools` of the next request to OpenAI's Chat Completions, or what speaks like it: what the model sees now."""
        return chat_tools(self._defined())

    def responses_tools(self, *, native: bool = False) -> list[dict[str, Any]]:
        """The same for OpenAI's Responses.

        `native` puts the search behind the API's own `tool_search`: found tools are appended, and this list stays.
        """
        visible = self._defined()
        if not native:
            return [definition(tool, "openai-responses") for tool in visible]
        [search, *_] = self.surface
        return responses_tools(search, self._defined(self._callable(self.pinned)))

    def anthropic_tools(self, *, native: bool = False) -> list[dict[str, Any]]:
        """The same for Anthropic's Messages.

        `native` declares every tool, most of them held back; a search refers to those it finds, and this list stays.
        """
        visible = self._defined()
        if not native:
            return anthropic_tools(visible)
        held_back = self._defined(filter(self._visibility.may_call, self.tools))
        return anthropic_tools([*self.surface, *self._defined(self._callable(self.pinned))], held_back)

    async def handle(
        self, call: object, context: object = None, *, confirm: Ask | None = None, native: bool = False
    ) -> dict[str, Any]:
        """Make a call of the model, as its SDK gives it; returns the message, item or block to send back.

        Args:
            call: An entry of `tool_calls` (Chat Completions), a `function_call` or `tool_search_call` (Responses), a
                `tool_use` block (Anthropic), or a call of LangChain; as an object or a dictionary.
            context: What the application gives to its tools.
            confirm: Asks the user about a risky call. Without it the model asks in words, and the user's next message,
                given to `begin_turn`, answers.
            native: Whether the tools were given with `native`.
        """
        asked = ModelCall.read(call)
        name = asked.name or self._finder or ""
        arguments, confirmed = without_confirmed(asked.arguments, self.find(name))
        result = await self.call(name, arguments, context)
        while isinstance(pending := cast("object", result.value), PendingApproval):  # a program may ask more than once
            agreed = await self._agreed(pending, confirm, confirmed=confirmed)
            if not isinstance(agreed, Approval):
                result = agreed
                break
            result = await self.call(*pending.next_call, context, approved=agreed)
            confirmed = False
        found: object = result.value
        names = found.tools if isinstance(found, Discovered) else ()
        if asked.form == "search":
            return responses_search_output(asked.id, self._defined(self._callable(names)))
        if native and asked.form == "anthropic" and isinstance(found, Discovered):
            return anthropic_search_result(asked.id, names, nothing=result.text)
        return asked.answer(result.text, failed=result.failed)

    async def _agreed(self, pending: PendingApproval, confirm: Ask | None, *, confirmed: bool) -> Approval | ToolResult:
        """The user's yes to a call of `handle`, or what the model is told."""
        if confirm is not None:
            agreed = confirm(pending)
            agreed = agreed if isinstance(agreed, bool) else await agreed
            return pending.approve() if agreed else pending.decline()
        if self._questions is None:
            logger.warning(
                "%s waits for the user's yes, which nobody tells the toolbox: "
                "call `begin_turn(text)` with each message of the user, or `handle(call, confirm=...)`.",
                pending.tool,
            )
            return pending.as_result()
        return self._questions.answer(pending, confirmed=confirmed)

    def _defined(self, tools: Iterable[Tool] | None = None) -> list[Tool]:
        """Tools as the model is told of them: those that ask first take `confirmed`."""
        if tools is None:
            tools = self.visible()
            if not tools and self.tools and self._make_surface is None and not self.pinned:
                raise NativeFormError(
                    "The model sees no tools: the toolbox has no surface.",
                    hint="Write `Toolbox(catalog, surface=search_surface)`.",
                )
        return [self._asking(tool) for tool in tools]

    def _asking(self, tool: Tool) -> Tool:
        if tool.name in self._surface or self.verdict(tool).decision is not Decision.ASK:
            return tool
        return tool.with_metadata(parameters=with_confirmed(schema(tool.parameters)))

    # Snapshots

    def snapshot(self) -> dict[str, Any]:
        """The state of this toolbox as JSON: its active tools, and what the user was asked. Policy and role are not."""
        questions = self._questions.snapshot() if self._questions is not None else {}
        programs = self.programs.snapshot()
        held = self._activation.snapshot() | ({"questions": questions} if questions else {})
        return held | ({"programs": programs} if programs else {})

    @classmethod
    def restore(
        cls, snapshot: Mapping[str, Any], catalog: Catalog, index: SearchIndex | None = None, **options: Any
    ) -> "Toolbox":
        """A toolbox as it was; `options` are those of a new one. Tools that are gone show nowhere."""
        toolbox = cls(catalog, index, **options)
        toolbox._activation = ActiveTools.restored(snapshot)
        if questions := snapshot.get("questions"):
            try:
                toolbox._questions = Questions.restored(questions)
            except (KeyError, TypeError, ValueError) as error:
                raise SnapshotError("The snapshot has no questions under 'questions'.", hint=_HINT) from error
        toolbox.programs.restore(mapping(snapshot.get("programs")))
        return toolbox

    def handed_to(self, role: str | None = None, *, pinned: Iterable[str] | None = None) -> "Toolbox":
        """A toolbox for a sub-agent: the same tools are active, and from here on each goes its own way.

        What is not given stays as it is here. The new one sees and calls what its own role may.
        """
        other = Toolbox.restore(
            self._activation.snapshot(),
            self.catalog,
            self._index,
            policy=self.policy,
            role=self.role if role is None else role,
            pinned=self.pinned if pinned is None else pinned,
            surface=self._make_surface,
            mode=self.mode,
            inactive=self._inactive,
            budget_tokens=self._budget_tokens,
            idle_turns=self._idle_turns,
            timeout_seconds=self._execution.timeout_seconds,
            size_of=self._size_of,
        )
        other.hide(self._hidden, unreachable=self._unreachable)
        return other

    # Helpers

    @property
    def _finder(self) -> str | None:
        return next(iter(self._surface), None)

    def _renew_surface(self) -> None:
        if self._make_surface is None or self.mode is Mode.DIRECT or self._surface_revision == self.catalog.revision:
            return
        self._surface_revision = self.catalog.revision
        self._surface = {tool.name: tool for tool in self._make_surface(self)}
        covered = frozenset(name for name in self._surface if self._is_covered(name))
        if covered != self._covered:
            self._covered = covered
            self._look()
            if covered - _warned_of.get(self.catalog, frozenset()):
                _warned_of[self.catalog] = covered
                names = " and ".join(map(repr, sorted(covered)))
                logger.warning("No model can call %s of the catalog: the surface has its name. Rename it.", names)

    def _is_covered(self, name: str) -> bool:
        """Whether a tool of the surface stands in the way of one of the catalog."""
        if name not in self.catalog:  # asked first: the error below lists all names
            return False
        try:
            return self.catalog.get(name) is not self._surface[name]
        except UnknownToolError:  # another thread has just removed it
            return False

    def _look(self) -> None:
        """See the catalog as this caller does: without what is hidden, and what the surface covers."""
        missing = self._hidden | self._covered
        self._visibility = visibility_for(self.catalog, self.policy, self.role, missing)
        self._where = None if self.policy.hides_nothing(self.role) and not missing else self._visibility
        self._seen: _Seen | None = None

    def _now(self) -> "_Seen":
        """What the model sees now; made anew only after the catalog, the surface or the active names changed."""
        names = self._activation.names
        state = (self.catalog.revision, self._surface_revision, names)
        seen = self._seen
        if seen is None or seen.state != state or any(self._revealed(name) != tool for name, tool in seen.elsewhere):
            elsewhere = tuple((name, self._revealed(name)) for name in names if self._visibility.find(name) is None)
            pinned = {tool.name: tool for tool in self._callable(self.pinned)}
            active = tuple(self._callable(name for name in names if name not in pinned))
            if self.mode is Mode.DIRECT:
                tools = tuple(filter(self._visibility.may_call, self.tools))
            else:
                tools = (*self.surface, *pinned.values(), *active)
            self._seen = seen = _Seen(state, elsewhere, tools, active, frozenset(tool.name for tool in tools))
        return seen

    def _callable(self, names: Iterable[str]) -> list[Tool]:
        """The tools of these names that exist for the caller and can be called, if need be after the user's yes."""
        found = (self.find(name) for name in names if name not in self._surface)
        return [tool for tool in found if tool is not None and self.may_call(tool)]

    def _revealed(self, name: str) -> Tool | None:
        """The tool of this name in a registry that a discovery tool reveals; the first one that has it counts."""
        for registry in self._registries():
            tool = registry.get(name)
            if isinstance(tool, Tool) and self._visibility.decide(tool).decision is not Decision.HIDE:
                return tool
        return None

    def _known(self) -> Iterator[Tool]:
        """Every tool that a wrong name may be near to."""
        yield from self.tools
        for registry in self._registries():
            held = (tool for tool in registry.list() if isinstance(tool, Tool))
            yield from (tool for tool in held if self._visibility.decide(tool).decision is not Decision.HIDE)

    def _registries(self) -> list[Any]:
        """The registries of the discovery tools in reach: of the surface, of the catalog, and of tools found there."""
        reached = [tool.reveals for tool in (*self._surface.values(), *self._visibility.discovery_tools)]
        found = [registry for registry in reached if registry is not None and not _is_of(registry, self)]
        if found:
            for name in self._activation.names:
                if self._visibility.find(name) is None:
                    held: list[object] = [one.get(name) for one in found]
                    tool = next((one for one in held if isinstance(one, Tool)), None)
                    if tool is not None and tool.reveals is not None and tool.reveals not in found:
                        found.append(tool.reveals)
        return found


def _is_of(registry: object, toolbox: Toolbox) -> bool:
    """Whether a registry shows what the toolbox itself holds."""
    return getattr(registry, "catalog", None) is toolbox.catalog


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the model sees in one state of a toolbox."""

    state: tuple[int, int, tuple[str, ...]]  # the revisions of catalog and surface, and the active names
    elsewhere: tuple[tuple[str, Tool | None], ...]  # those that are not in the catalog, which no revision tells
    tools: tuple[Tool, ...]
    active: tuple[Tool, ...]
    names: frozenset[str]  # of all of them
