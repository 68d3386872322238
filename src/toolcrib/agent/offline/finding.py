"""How the brain finds a tool, by whatever way into the catalog there is: a search, a walk, a list, or all tools."""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, TypeVar

from toolcrib.agent.offline.conversation import Call, Conversation, Result
from toolcrib.agent.offline.known_tools import KnownTool, listed_in, specified_in
from toolcrib.agent.offline.meaning import is_like
from toolcrib.agent.offline.ranking import ranked
from toolcrib.agent.offline.request_text import RequestText
from toolcrib.discovery.handover import SURE_FROM, best_hits

Given = TypeVar("Given")
# A plan asks for calls and is sent their results; it is written as if they came back at once.
Plan: TypeAlias = Generator[Sequence["Wish"], Sequence[Result], Given]

EXECUTE = "execute_tool"
GET_TOOL = "get_tool"
_UNSURE = "Perhaps"  # how a search says that it is not sure
_NONE = "No tool fits"
_NAMED = "search for its name: "  # how a search says which tools it did not hand over
_ENOUGH = 0.8  # confidence from which tools already in sight need no search
_MOST_SHOWN = 8
_COMPACT = re.compile(r"<tools>\n(.*?)\n</tools>", re.DOTALL)
_LINE = re.compile(r"^([A-Za-z_][\w-]{0,63})(?:: (.*))?$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][\w-]{0,63}", re.ASCII)
_DISCOVER = re.compile(r"discover_\w+")


@dataclass(frozen=True, slots=True)
class Wish:
    """A call the plan wants made; `lasting` ones do something, and are never made twice for one errand."""

    call: Call
    lasting: bool = False


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

    tools: Sequence[KnownTool] = ()
    sure: bool = True
    text: str = ""  # what the search said, for when nothing was found


@dataclass(frozen=True)
class Finder:
    """Finds tools in one conversation."""

    conversation: Conversation
    done: Sequence[Call]  # the calls of this turn

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
        return Way.COMPACT if GET_TOOL in tools and _COMPACT.search(self.conversation.instructions) else Way.DIRECT

    @property
    def in_sight(self) -> list[KnownTool]:
        """The tools that can be called now, without those that find others."""
        return [tool for tool in self.conversation.tools.values() if not self.is_discovery(tool.name)]

    def is_discovery(self, name: str) -> bool:
        """Whether a tool is one that finds others."""
        own = {self._search, GET_TOOL, EXECUTE, "search_tools", "list_categories", "browse_category", "final_answer"}
        return (name in own or bool(_DISCOVER.fullmatch(name))) and self.way is not Way.DIRECT

    def searches(self, tasks: Sequence[str]) -> list[Wish]:
        """The searches for several tasks, to be made at once."""
        return [self._asking(task) for task in tasks] if self.way in (Way.SEARCH, Way.BROWSE) else []

    def find(self, task: str) -> Plan[Found]:
        """The tools that serve a task, ready to be called."""
        match self.way:
            case Way.SEARCH:
                return (yield from self._by_search(task))
            case Way.BROWSE:
                return (yield from self._by_browsing(task))
            case Way.COMPACT:
                return (yield from self._by_list(task))
            case Way.DOMAINS:
                return (yield from self._by_domains(task))
            case Way.DIRECT:
                return self._by_rank(task, self.in_sight)

    def describe(self, tool: KnownTool) -> Plan[KnownTool]:
        """The tool with its parameters."""
        if tool.name in self.conversation.tools:
            return self.conversation.tools[tool.name]
        if self.way is Way.SEARCH:
            yield [self._asking(tool.name)]
        if GET_TOOL not in self.conversation.tools:
            return self.conversation.tools.get(tool.name, tool)
        (result,) = yield [Wish(Call(tool=GET_TOOL, arguments={"name": tool.name}))]
        return specified_in(result.text) or tool

    def describe_all(self, tools: Sequence[KnownTool]) -> Plan[list[KnownTool]]:
        """Several tools with their parameters."""
        seen: list[KnownTool] = []
        for tool in tools:
            one = yield from self.describe(tool)
            seen.append(one)
        return seen

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

    def _asking(self, task: str) -> Wish:
        name = self._search if self.way is Way.SEARCH else "search_tools"
        return Wish(Call(tool=name, arguments={"query": task}))

    def _by_search(self, task: str) -> Plan[Found]:
        asking = self._asking(task)
        if not any(call.same_as(asking.call) for call in self.done) and (active := self._active(task)):
            return active
        (result,) = yield [asking]
        # The definitions have come with the answer, which only names them; of others, the name is all there is.
        handed, _, beside = result.text.partition(_NAMED)
        sighted = {tool.name: tool for tool in self.in_sight}
        tools = [sighted[name] for name in _names(handed) if name in sighted and not result.text.startswith(_NONE)]
        tools += [KnownTool(name, "") for name in _names(beside.partition("\n")[0])]
        return Found(tools=tools, sure=_UNSURE not in result.text, text=result.text)

    def _active(self, task: str) -> Found | None:
        """A tool of an earlier turn, if it is plainly the one: sure by rank, and named by its verb and its noun."""
        tools = self.in_sight
        found = ranked(task, tools) if tools else None
        if found is None or not found.hits or found.confidence < _ENOUGH:
            return None
        best = self.conversation.tools[found.hits[0].name]
        said = [word.folded for word in RequestText(task).words]
        spoken = any(word == best.verb or is_like(word, best.verb) for word in said) if best.verb else False
        if not spoken or not all(any(is_like(word, noun) for word in said) for noun in best.nouns[:1]):
            return None
        rest = [hit.name for hit in found.hits[1:]]
        return Found(tools=[best, *(self.conversation.tools[name] for name in rest)])

    def _by_browsing(self, task: str) -> Plan[Found]:
        (result,) = yield [self._asking(task)]
        return Found(tools=listed_in(result.text), sure=_UNSURE not in result.text, text=result.text)

    def _by_list(self, task: str) -> Plan[Found]:
        listed = _COMPACT.search(self.conversation.instructions)
        tools = [KnownTool(name, words or "") for name, words in _LINE.findall(listed[1])] if listed else []
        return self._by_rank(task, tools)
        yield []  # a plan like the others, that needs no call

    def _by_domains(self, task: str) -> Plan[Found]:
        names = [name for name in self.conversation.tools if _DISCOVER.fullmatch(name)]
        results = yield [Wish(Call(tool=name, arguments={"level": 2})) for name in names]
        listed = [(tool, name) for name, result in zip(names, results, strict=True) for tool in listed_in(result.text)]
        found = self._by_rank(task, [tool for tool, _ in listed])
        owners = {tool.name: name for tool, name in listed}
        if found.tools and found.tools[0].name not in self.conversation.tools:
            best = found.tools[0].name
            yield [Wish(Call(tool=owners[best], arguments={"tool": best, "level": 3}))]
        known = [self.conversation.tools.get(tool.name, tool) for tool in found.tools]
        return Found(tools=known, sure=found.sure, text=found.text)

    def _by_rank(self, task: str, tools: Sequence[KnownTool]) -> Found:
        found = ranked(task, tools) if tools else None
        if found is None or not found.hits:
            return Found()
        by_name = {tool.name: tool for tool in tools}
        shown = [by_name[hit.name] for hit in best_hits(found, _MOST_SHOWN)]
        return Found(tools=shown, sure=found.confidence >= SURE_FROM)


def _names(text: str) -> list[str]:
    """Every word that could be the name of a tool, once."""
    return list(dict.fromkeys(found[0] for found in _NAME.finditer(text)))
