"""Surface domains: the catalog is data, and access to it is a tool like any other, one for each domain.

`discover_images_tools()` gives names, with `level=2` a line and a signature each, with `tool` what that tool is for and
how it is called, with `level=3` its full specification, and makes it callable. The tools made here can be the surface
of a toolbox or be added to a catalog; they look at the catalog when called, so that a tool registered later shows.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias
from zlib import crc32

from toolcrib.catalog.catalog import Catalog
from toolcrib.discovery.handover import Discovered
from toolcrib.discovery.render import label, tool_list
from toolcrib.discovery.surfaces.browse import describe_and_activate
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
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.tools.result import ToolResult
from toolcrib.tools.tool import Tool

NAMES_PER_PAGE = 60
LINES_PER_PAGE = 15
MOST_DOMAINS = 20  # each costs its definition in every step; the smallest ones share a tool
MOST_NAME_CHARACTERS = 40  # of a domain in a tool's name: with the rest it stays within 64
AGENTS = "agents"

Domains: TypeAlias = Mapping[str, Toolbox | Catalog]


def domain_of(tool: Tool) -> str:
    """The default domain of a tool: agents have their own, other tools go by category."""
    category = category_of(tool)
    is_agent = category.casefold() == AGENTS or tool.source.partition(":")[0] in ("agent", AGENTS)
    return AGENTS if is_agent else category


def domain_surface(held: Toolbox | Domains, *, domain_of: GroupOf = domain_of) -> tuple[Tool, ...]:
    """A discovery tool for each domain: of one toolbox, by `domain_of`; or of several, by the names in the mapping.

    Of one toolbox, the largest domains the caller may know of have a tool each, and `discover_other_tools` leads to the
    rest, also to domains that appear later. A catalog in the mapping is seen through the default policy: give a
    toolbox where there is another.
    """
    domains = _of_one(held, domain_of) if isinstance(held, Toolbox) else _of_several(held)
    taken: set[str] = set()
    return tuple(_discover(domain, _tool_name(domain.name, taken)) for domain in domains)


@dataclass(frozen=True, slots=True)
class _Domain:
    """Some of a toolbox's tools, under one name."""

    name: str
    toolbox: Toolbox
    tools: Callable[[], Sequence[Tool]]  # as they are at this moment

    @property
    def noun(self) -> str:
        return "agent" if self.name.casefold() == AGENTS else "tool"


def _of_one(toolbox: Toolbox, domain_of: GroupOf) -> list[_Domain]:
    def domain(name: str) -> _Domain:
        return _Domain(name, toolbox, lambda: group_tools(toolbox, domain_of).get(name, ()))

    def others() -> Sequence[Tool]:
        rest = (tools for name, tools in group_tools(toolbox, domain_of).items() if name not in named)
        # Without the discovery tools, which may be in the catalog too: the model has them already.
        return [tool for tools in rest for tool in tools if tool.source != SOURCE]

    groups = group_tools(toolbox, domain_of)
    largest = sorted((name for name in groups if name != OTHER), key=lambda name: -len(groups[name]))
    named = frozenset(largest[: MOST_DOMAINS - 1])
    return [*(domain(name) for name in groups if name in named), _Domain(OTHER, toolbox, others)]


def _of_several(held: Domains) -> list[_Domain]:
    boxes = {name: box if isinstance(box, Toolbox) else Toolbox(box) for name, box in held.items()}
    return [_Domain(name, box, lambda box=box: box.tools) for name, box in boxes.items()]


def _discover(domain: _Domain, name: str) -> Tool:
    noun = domain.noun
    what = "agents to hand work to" if noun == "agent" else f"{label(domain.name)} tools"
    # Written by hand, for there is one for each domain, and every word is paid for in each step.
    parameters = {
        "type": "object",
        "properties": {
            "tool": {"type": "string", "description": f"Name of one {noun}, to make it callable"},
            "level": {"enum": [1, 2, 3], "description": "1 names, 2 summaries, 3 full"},
            "page": {"type": "integer"},
        },
    }
    return _discover_tools.bind(
        (domain, name),
        name=name,
        description=f"Discover {what}: first their names, then how to use one.",
        parameters=parameters,
        phrases=(f"which {what} are there",),
    )


@surface_tool(name="discover_tools", description="")
async def _discover_tools(
    surface: tuple[_Domain, str], tool: str | None = None, level: Literal[1, 2, 3] = 1, page: int = 1
) -> ToolResult:
    domain, name = surface
    if tool and tool.strip():
        return _one(domain, tool.strip(), level)
    return _many(domain, name, level, page)


def _one(domain: _Domain, name: str, level: int) -> ToolResult:
    display = Display(domain.toolbox)
    # A tool of whatever domain: the model knows what it wants.
    return describe_and_activate(domain.toolbox, name, display.specification if level == 3 else display.line)


def _many(domain: _Domain, name: str, level: int, page: int) -> ToolResult:
    tools, noun = domain.tools(), domain.noun
    if not tools:
        return ToolResult(text=f"There are no {noun}s here now.")
    pages = pages_of(tools, NAMES_PER_PAGE if level == 1 else LINES_PER_PAGE)
    if not 1 <= page <= len(pages):
        return no_such_page(page, len(pages))
    shown = pages[page - 1]
    display = Display(domain.toolbox)
    listed = ", ".join(one.name for one in shown) if level == 1 else tool_list(map(display.line, shown))
    head = f"{len(tools)} {noun}{'s' * (len(tools) > 1)}{place(page, len(pages))}:"
    return ToolResult(
        text=f'{head}\n{listed}\nNext: {name}(tool="...", level=3) for one of them.',
        value=Discovered(query=label(domain.name), tools=tuple(one.name for one in shown)),
    )


def _tool_name(domain: str, taken: set[str]) -> str:
    """`discover_<domain>_tools`, in letters every provider accepts, and unlike the others."""
    plain = unicodedata.normalize("NFKD", domain).encode("ascii", "ignore").decode()
    word = re.sub(r"[^a-z0-9]+", "_", plain.casefold()).strip("_")[:MOST_NAME_CHARACTERS].strip("_")
    name = _spelled(word) if word else ""
    if not name or name in taken:  # another script, or two domains that differ only in signs
        name = _spelled(f"{word}_{crc32(domain.encode()):08x}".lstrip("_"))
    taken.add(name)
    return name


def _spelled(word: str) -> str:
    return f"discover_{AGENTS}" if word == AGENTS else f"discover_{word}_tools"
