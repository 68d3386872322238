"""Finds tools by whatever way into the catalog there is (a search, browsing, a list, domains, or all tools), and
replays a plan: it is written as if calls came back at once, and each request plays it from the start with the results
there are. So the brain keeps no state.
"""

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from toolcrib.agent.offline.conversation import Call, Conversation, Result, Step
from toolcrib.agent.offline.language import same_meaning
from toolcrib.agent.offline.request import Request
from toolcrib.agent.offline.tools import ToolInfo, as_object, listed_in, specified_in
from toolcrib.discovery.handover import SURE_FROM, best_hits
from toolcrib.search.result import SearchResult
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

if TYPE_CHECKING:
    from toolcrib.search.corpus import CatalogChange
    from toolcrib.search.index import ToolIndex


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that a plan wants; one that `writes` is never made twice for one task."""

    call: Call
    writes: bool = False


Value = TypeVar("Value")
Plan: TypeAlias = Generator[Sequence[Wanted], Sequence[Result], Value]  # asks for calls and is sent their results


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back: calls to make, or a text for the user; notes are for the brain itself, in the next turn."""

    text: str = ""
    calls: Sequence[Call] = ()
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])


def replay(plan: Plan[Reply], steps: Sequence[Step]) -> Reply:
    """The reply a plan comes to: the calls it waits for, or its end."""
    left = list(steps)
    try:
        wanted = next(plan)
        while True:
            results = [_take_result(left, one) for one in wanted]
            missing = [one.call for one, result in zip(wanted, results, strict=True) if result is None]
            if missing:
                return Reply(calls=missing)
            wanted = plan.send([result for result in results if result is not None])
    except StopIteration as end:
        reply: Reply = end.value
        return reply


def _take_result(left: list[Step], wanted: Wanted) -> Result | None:
    """The result of a call of this turn. One that writes is the same with other arguments: by now more is known."""
    found = [step for step in left if step.call.same_as(wanted.call)]
    if wanted.writes:
        found += [step for step in left if step.call.tool == wanted.call.tool]
    if not found:
        return None
    if wanted.writes:
        left.remove(found[0])
    return found[0].result or Result(text="There is no result.", failed=True)


EXECUTE = "execute_tool"
_GET_TOOL = "get_tool"
_UNSURE = "Perhaps"  # how a search says that it is not sure
_NONE = "No tool fits"
_NAMED = "search for its name: "  # how a search says which tools it did not hand over
_ENOUGH = 0.8  # confidence from which tools already in sight need no search
_MOST_SHOWN = 8
_COMPACT = re.compile(r"<tools>\n(.*?)\n</tools>", re.DOTALL)
_LINE = re.compile(r"^([A-Za-z_][\w-]{0,63})(?:: (.*))?$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][\w-]{0,63}", re.ASCII)
_DISCOVER = re.compile(r"discover_\w+")


def unwrapped(step: Step) -> Step:
    """A call through `execute_tool`, as the call it stands for."""
    if step.call.tool != EXECUTE:
        return step
    given = step.call.arguments
    return Step(Call(tool=str(given.get("name")), arguments=as_object(given.get("params"))), step.result)


class Way(StrEnum):
    """The way into the catalog, told by the discovery tools in sight."""

    SEARCH = "search"
    BROWSE = "browse"
    COMPACT = "compact"
    DOMAINS = "domains"
    DIRECT = "direct"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The tools for a task, best first."""

    tools: Sequence[ToolInfo] = ()
    sure: bool = True
    text: str = ""  # what the search spoken, for when nothing was found


@dataclass(frozen=True)
class ToolFinder:
    """Finds tools in one conversation."""

    conversation: Conversation
    called: Sequence[Call]  # in this turn

    @property
    def way(self) -> Way:
        """Which way there is."""
        tools = self.conversation.tools
        if EXECUTE in tools and "search_tools" in tools:
            return Way.BROWSE
        if self._search:
            return Way.SEARCH
        if any(_DISCOVER.fullmatch(name) for name in tools):
            return Way.DOMAINS
        return Way.COMPACT if _GET_TOOL in tools and _COMPACT.search(self.conversation.instructions) else Way.DIRECT

    @property
    def visible(self) -> list[ToolInfo]:
        """The tools that can be called now, without those that find others."""
        return [tool for tool in self.conversation.tools.values() if not self.is_discovery(tool.name)]

    def is_discovery(self, name: str) -> bool:
        """Whether a tool is one that finds others."""
        own = {self._search, _GET_TOOL, EXECUTE, "search_tools", "list_categories", "browse_category", "final_answer"}
        return (name in own or bool(_DISCOVER.fullmatch(name))) and self.way is not Way.DIRECT

    def searches(self, tasks: Sequence[str]) -> list[Wanted]:
        """The searches for several tasks, to be made at once."""
        return [self._query(task) for task in tasks] if self.way in (Way.SEARCH, Way.BROWSE) else []

    def find(self, task: str) -> Plan[Found]:
        """The tools that serve a task."""
        match self.way:
            case Way.SEARCH:
                return (yield from self._by_search(task))
            case Way.BROWSE:
                (result,) = yield [self._query(task)]
                return Found(tools=listed_in(result.text), sure=_UNSURE not in result.text, text=result.text)
            case Way.COMPACT:
                listed = _COMPACT.search(self.conversation.instructions)
                lines = _LINE.findall(listed[1]) if listed else []
                return self._ranked(task, [ToolInfo(name, words or "") for name, words in lines])
            case Way.DOMAINS:
                return (yield from self._by_domains(task))
            case Way.DIRECT:
                return self._ranked(task, self.visible)

    def describe(self, tool: ToolInfo) -> Plan[ToolInfo]:
        """The tool with its parameters."""
        if tool.name in self.conversation.tools:
            return self.conversation.tools[tool.name]
        if self.way is Way.SEARCH:
            yield [self._query(tool.name)]
        if _GET_TOOL not in self.conversation.tools:
            return self.conversation.tools.get(tool.name, tool)
        (result,) = yield [Wanted(Call(tool=_GET_TOOL, arguments={"name": tool.name}))]
        return specified_in(result.text) or tool

    def wired(self, call: Call) -> Call:
        """The call as it is made: by name, or through another tool where the list of tools never changes."""
        if self.way is Way.BROWSE and not self.is_discovery(call.tool) and call.tool not in self.conversation.tools:
            return Call(tool=EXECUTE, arguments={"name": call.tool, "params": dict(call.arguments)})
        return call

    @property
    def _search(self) -> str:
        """The tool that searches: `tool_search`, or whatever it was named."""
        tools = self.conversation.tools
        if "tool_search" in tools:
            return "tool_search"
        return next((tool.name for tool in tools.values() if tool.description.startswith("Find tools for a task")), "")

    def _query(self, task: str) -> Wanted:
        name = self._search if self.way is Way.SEARCH else "search_tools"
        return Wanted(Call(tool=name, arguments={"query": task}))

    def _by_search(self, task: str) -> Plan[Found]:
        query = self._query(task)
        if not any(call.same_as(query.call) for call in self.called) and (active := self._active(task)):
            return active
        (result,) = yield [query]
        # The definitions have come with the answer, which only names them; of others, the name is all there is.
        handed, _, beside = result.text.partition(_NAMED)
        sighted = {tool.name: tool for tool in self.visible}
        tools = [sighted[name] for name in _names(handed) if name in sighted and not result.text.startswith(_NONE)]
        tools += [ToolInfo(name, "") for name in _names(beside.partition("\n")[0])]
        return Found(tools=tools, sure=_UNSURE not in result.text, text=result.text)

    def _active(self, task: str) -> Found | None:
        """A tool of an earlier turn, if it is plainly the one: sure by rank, and named by its verb and its noun."""
        tools = self.visible
        found = _search_in(task, tools) if tools else None
        if found is None or not found.hits or found.confidence < _ENOUGH:
            return None
        best = self.conversation.tools[found.hits[0].name]
        spoken = [word.folded for word in Request(task).words]
        if not best.verb or not any(same_meaning(word, best.verb) for word in spoken):
            return None
        if not all(any(same_meaning(word, noun) for word in spoken) for noun in best.nouns[:1]):
            return None
        return Found(tools=[best, *(self.conversation.tools[hit.name] for hit in found.hits[1:])])

    def _by_domains(self, task: str) -> Plan[Found]:
        names = [name for name in self.conversation.tools if _DISCOVER.fullmatch(name)]
        results = yield [Wanted(Call(tool=name, arguments={"level": 2})) for name in names]
        listed = [(tool, name) for name, result in zip(names, results, strict=True) for tool in listed_in(result.text)]
        found = self._ranked(task, [tool for tool, _ in listed])
        owners = {tool.name: name for tool, name in listed}
        if found.tools and found.tools[0].name not in self.conversation.tools:
            best = found.tools[0].name
            yield [Wanted(Call(tool=owners[best], arguments={"tool": best, "level": 3}))]
        known = [self.conversation.tools.get(tool.name, tool) for tool in found.tools]
        return Found(tools=known, sure=found.sure)

    def _ranked(self, task: str, tools: Sequence[ToolInfo]) -> Found:
        found = _search_in(task, tools) if tools else None
        if found is None or not found.hits:
            return Found()
        by_name = {tool.name: tool for tool in tools}
        shown = [by_name[hit.name] for hit in best_hits(found, _MOST_SHOWN)]
        return Found(tools=shown, sure=found.confidence >= SURE_FROM)


def _names(text: str) -> list[str]:
    """Every word that could be the name of a tool, once."""
    return list(dict.fromkeys(found[0] for found in _NAME.finditer(text)))


# Tools in sight are ranked by the index that ranks a catalog, for the ways without a search tool.

_KEPT_INDEXES = 8  # a conversation looks at the same few sets of tools again and again


def _search_in(query: str, tools: Iterable[ToolInfo]) -> SearchResult:
    described = ((tool.name, tool.description, tuple(one.name for one in tool.parameters)) for tool in tools)
    return _index(tuple(described)).search(query, limit=_MOST_SHOWN)


@lru_cache(maxsize=_KEPT_INDEXES)
def _index(described: tuple[tuple[str, str, tuple[str, ...]], ...]) -> "ToolIndex":
    from toolcrib.search.index import ToolIndex  # late: numpy, which small talk does not need

    def tool(name: str, description: str, parameters: Sequence[str]) -> Tool:
        schema: dict[str, Any] = {"type": "object", "properties": {parameter: {} for parameter in parameters}}
        return Tool(name=name, description=description, parameters=schema, call=_never)

    return ToolIndex(_Fixed(added=[tool(*one) for one in described]))


@dataclass(frozen=True)
class _Fixed:
    """Some tools as a catalog that never changes: it announces them once, and is that announcement itself."""

    added: Sequence[Tool]
    removed: Sequence[str] = ()

    def subscribe(self, listener: "Callable[[CatalogChange], object]", *, replay: bool = False) -> Callable[[], None]:
        """Tell of the tools at once."""
        listener(self)
        return lambda: None


async def _never(arguments: object, context: object = None, /) -> ToolResult:
    """The tools here are for finding; the real ones are called by the agent."""
    raise NotImplementedError(arguments, context)
