"""Surface domains: a registry is data, and access to it is a tool like any other, one for each domain.

`discover_images_tools()` gives names with a few words, with `level=2` a line and signature each, with `tool` what that
tool is for and how it is called, with `level=3` its full specification, and makes it callable. The tools made here can
be the surface of a toolbox or be added to a catalog; they look at the registry when called, so that a tool registered
later shows. A registry is a catalog, a toolbox, or anything with `list`, `get` and `search` (`tools/registry.py`).
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable
from zlib import crc32

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery import render as refusals
from toolcrib.discovery.handover import MOST_TOOLS, Discovered
from toolcrib.discovery.render import label, quoted, tool_list
from toolcrib.discovery.surfaces.browse import CALL_BY_NAME
from toolcrib.discovery.surfaces.display import (
    OTHER,
    SOURCE,
    Display,
    GroupOf,
    category_of,
    group_tools,
    no_such_page,
    pages_of,
    place,
    surface_tool,
)
from toolcrib.discovery.toolbox import Toolbox, calling
from toolcrib.errors import UnknownToolError
from toolcrib.policy.policy import Decision, Verdict
from toolcrib.search.interface import LazyIndex
from toolcrib.tools.registry import Registry, entry_line, registry_tool
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

NAMES_PER_PAGE = 60
LINES_PER_PAGE = 15
MOST_DOMAINS = 20  # each costs its definition in every step; the smallest ones share a tool
MOST_NAME_CHARACTERS = 40  # of a domain in a tool's name: with the rest it stays within 64
AGENTS = "agents"
HANDS_WORK = "Hand work to the agent {}. "  # how the description of an app's agent begins

Domains: TypeAlias = Mapping[str, Toolbox | Catalog | Registry]


def domain_of(tool: Tool) -> str:
    """The default domain of a tool: agents have their own, other tools go by category."""
    category = category_of(tool)
    is_agent = category.casefold() == AGENTS or tool.source.partition(":")[0] in ("agent", AGENTS)
    return AGENTS if is_agent else category


def domain_surface(held: Toolbox | Domains, *, domain_of: GroupOf = domain_of) -> tuple[Tool, ...]:
    """A discovery tool for each domain: of one toolbox, by `domain_of`; or of several, by the names in the mapping.

    Of one toolbox, the largest domains the caller may know of have a tool each, and `discover_other_tools` leads to the
    rest, also to domains that appear later. The registries in a mapping may be any: what they hold is seen and called
    through the policy of the toolbox that the tools made here belong to, and where one is a toolbox, through its own
    policy, too. Entries that are no tools, such as documents, are read.
    """
    if isinstance(held, Toolbox):
        domains: Sequence[_Domain | tuple[str, Registry]] = _of_one(held, domain_of)
    else:
        domains = [_of_several(name, registry) for name, registry in held.items()]
    taken: set[str] = set()
    return tuple(
        _discover_entries(*domain, taken)
        if isinstance(domain, tuple)
        else _discover(domain, _tool_name(domain.name, taken))
        for domain in domains
    )


class ToolRegistry:
    """The tools of a catalog or a toolbox as a registry; those of a toolbox through its own policy."""

    def __init__(self, held: Toolbox | Catalog) -> None:
        self._toolbox = held if isinstance(held, Toolbox) else None
        self.catalog = held.catalog if isinstance(held, Toolbox) else held
        self._index = LazyIndex(self.catalog)

    def list(self) -> Sequence[Tool]:
        """All tools, in the catalog's order."""
        return self._toolbox.tools if self._toolbox is not None else tuple(self.catalog)

    def get(self, name: str) -> Tool | None:
        """The tool of this name."""
        if name not in self.catalog:
            return None
        try:
            tool = self.catalog.get(name)
        except UnknownToolError:  # another thread has just removed it
            return None
        return None if self._toolbox is not None and self.verdict(tool).decision is Decision.HIDE else tool

    def search(self, query: str, *, limit: int = 5) -> Sequence[Tool]:
        """The tools that serve a request, best first."""
        if self._toolbox is not None:
            hits = self._toolbox.search(query, limit=limit).hits
        else:
            hits = self._index.search(query, limit=limit).hits
        return [tool for hit in hits if (tool := self.get(hit.name)) is not None]

    def verdict(self, tool: Tool) -> Verdict:
        """What the toolbox's own policy says; a catalog has none."""
        if self._toolbox is None:
            return Verdict(Decision.ALLOW)
        return self._toolbox.policy.decide(tool, self._toolbox.role)


@dataclass(frozen=True, slots=True)
class _Domain:
    """Some tools of a registry, under one name."""

    name: str
    registry: Registry
    tools: Callable[[], Sequence[Tool]]  # as they are at this moment
    own: Toolbox  # where they become active if the discovery tool is called outside of a toolbox

    @property
    def noun(self) -> str:
        return "agent" if self.name.casefold() == AGENTS else "tool"

    def caller(self) -> Toolbox:
        """The toolbox through which the tools are seen and called now."""
        return calling.get() or self.own


def _of_one(toolbox: Toolbox, domain_of: GroupOf) -> list[_Domain]:
    registry = ToolRegistry(toolbox)

    def domain(name: str) -> _Domain:
        return _Domain(name, registry, lambda: group_tools(toolbox, domain_of).get(name, ()), toolbox)

    def others() -> Sequence[Tool]:
        rest = (tools for name, tools in group_tools(toolbox, domain_of).items() if name not in named)
        # Without the discovery tools, which may be in the catalog too, and the pinned ones: the model has them already.
        return [tool for tools in rest for tool in tools if tool.source != SOURCE and tool.name not in toolbox.pinned]

    every = group_tools(toolbox, domain_of)
    groups = {name: tools for name, tools in every.items() if not {one.name for one in tools} <= {*toolbox.pinned}}
    largest = sorted((name for name in groups if name != OTHER), key=lambda name: -len(groups[name]))
    named = frozenset(largest[: MOST_DOMAINS - 1])
    return [*(domain(name) for name in groups if name in named), _Domain(OTHER, registry, others, toolbox)]


def _of_several(name: str, held: Toolbox | Catalog | Registry) -> "_Domain | tuple[str, Registry]":
    if isinstance(held, Toolbox | Catalog):
        registry = ToolRegistry(held)
        return _Domain(name, registry, registry.list, held if isinstance(held, Toolbox) else Toolbox(held))
    holds_tools = all(isinstance(one, Tool) for one in held.list())
    if not holds_tools or isinstance(held, _MakesTool):
        return name, held
    return _Domain(name, held, lambda: [one for one in held.list() if isinstance(one, Tool)], Toolbox(Catalog()))


def _discover_entries(name: str, registry: Registry, taken: set[str]) -> Tool:
    """A discovery tool for what is read: its own one if the registry makes one, else a plain one."""
    spelled = _tool_name(name, taken, tools=False)
    if isinstance(registry, _MakesTool):
        return registry.tool(spelled).with_metadata(source=SOURCE)
    return registry_tool(registry, spelled, what=label(name)).with_metadata(source=SOURCE)


@runtime_checkable
class _MakesTool(Protocol):
    """A registry that says itself how it is disclosed, such as documents and skills."""

    def tool(self, name: str, /) -> Tool: ...


def _discover(domain: _Domain, name: str) -> Tool:
    noun = domain.noun
    what = "agents to hand work to" if noun == "agent" else f"{label(domain.name)} tools"
    # Written by hand, for there is one for each domain, and every word is paid for in each step.
    parameters = {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "description": f"Name of one {noun}, to make it callable"},
            "query": {"type": "string"},
            "level": {"enum": [1, 2, 3], "description": "1 names, 2 usage, 3 full"},
            "page": {"type": "integer"},
        },
    }
    return _discover_tools.bind(
        (domain, name),
        name=name,
        description=f"Discover {what}: first their names, then how to use one.",
        parameters=parameters,
        phrases=(f"which {what} are there",),
        reveals=domain.registry,
    )


@surface_tool(name="discover_tools", description="")
async def _discover_tools(
    surface: tuple[_Domain, str],
    tool: str | None = None,
    query: str | None = None,
    level: Literal[1, 2, 3] = 1,
    page: int = 1,
) -> ToolResult:
    domain, name = surface
    if tool and tool.strip():
        return _one(domain, name, tool.strip(), level)
    return _many(domain, name, (query or "").strip(), level, page)


def _one(domain: _Domain, finder: str, name: str, level: int) -> ToolResult:
    toolbox = domain.caller()
    display = Display(toolbox)
    found = domain.registry.get(name)
    # Or a tool of whatever domain: the model knows what it wants.
    held = found if isinstance(found, Tool) and _is_seen(toolbox, found) else toolbox.find(name)
    if held is None:
        return refusals.unknown(name, _seen(toolbox, domain.tools()), f"{finder}()")
    if not display.may_call(held):
        return refusals.denied(held.name, toolbox.verdict(held).reason)
    if toolbox is not domain.own and toolbox.find(held.name) is not held:
        return ToolResult.failure(f"{held.name} cannot be called: another tool has the same name. Tell the user.")
    activated = toolbox.activate([held.name])
    return ToolResult(
        text=f"{display.specification(held) if level == 3 else display.line(held)}\n{CALL_BY_NAME}",
        value=Discovered(query=name, tools=(held.name,), activated=activated, confidence=1.0),
    )


def _many(domain: _Domain, name: str, query: str, level: int, page: int) -> ToolResult:
    toolbox, noun = domain.caller(), domain.noun
    tools = _seen(toolbox, domain.tools())
    if not tools:
        return ToolResult(text=f"There are no {noun}s here now.")
    if query:
        here = {one.name for one in tools}
        fitting = domain.registry.search(query, limit=MOST_TOOLS)
        tools = [one for one in fitting if isinstance(one, Tool) and one.name in here]
        if not tools:
            return ToolResult(text=f"No {noun} here fits {quoted(query)}. {name}() lists all there are.")
    pages = pages_of(tools, NAMES_PER_PAGE if level == 1 else LINES_PER_PAGE)
    if not 1 <= page <= len(pages):
        return no_such_page(page, len(pages))
    shown = pages[page - 1]
    listed = tool_list(map(_named if level == 1 else Display(toolbox).line, shown))
    head = f"{len(tools)} {noun}{'s' * (len(tools) > 1)}{place(page, len(pages))}:"
    return ToolResult(
        text=f'{head}\n{listed}\nNext: {name}(tool="...") for how to use one.',
        value=Discovered(query=query or label(domain.name), tools=tuple(one.name for one in shown)),
    )


def _named(tool: Tool) -> str:
    """`name: a few words`; of an agent what it is for, without how work is handed to it."""
    words = tool.description.removeprefix(HANDS_WORK.format(tool.name.removeprefix("ask_")))
    return entry_line(tool.with_metadata(description=words or tool.description))


def _seen(toolbox: Toolbox, tools: Sequence[Tool]) -> list[Tool]:
    return [tool for tool in tools if _is_seen(toolbox, tool)]


def _is_seen(toolbox: Toolbox, tool: Tool) -> bool:
    return toolbox.verdict(tool).decision is not Decision.HIDE


def _tool_name(domain: str, taken: set[str], *, tools: bool = True) -> str:
    """`discover_<domain>_tools`, in letters every provider accepts, and unlike the others."""
    plain = unicodedata.normalize("NFKD", domain).encode("ascii", "ignore").decode()
    word = re.sub(r"[^a-z0-9]+", "_", plain.casefold()).strip("_")[:MOST_NAME_CHARACTERS].strip("_")
    name = _spelled(word, tools) if word else ""
    if not name or name in taken:  # another script, or two domains that differ only in signs
        name = _spelled(f"{word}_{crc32(domain.encode()):08x}".lstrip("_"), tools)
    taken.add(name)
    return name


def _spelled(word: str, tools: bool) -> str:
    return f"discover_{word}" if word == AGENTS or not tools else f"discover_{word}_tools"
