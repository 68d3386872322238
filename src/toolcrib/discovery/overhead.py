"""What reaching tools costs at a step: definitions, what stands in the prompt, discovery's own talk, active protocols.

Measured on the real surface and toolbox, with searches for the catalogue's own tools.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib.catalog import Catalog
from toolcrib.discovery.get_tool import compact_surface
from toolcrib.discovery.protocols import protocols_block
from toolcrib.discovery.render import compact_list
from toolcrib.discovery.search_surface import search_surface
from toolcrib.discovery.tokens import compact_json, count_tokens, definitions_tokens, message_tokens
from toolcrib.discovery.toolbox import Surface, Toolbox
from toolcrib.discovery.wire import Wire
from toolcrib.search.index import ToolIndex
from toolcrib.tools.description import first_sentence
from toolcrib.tools.tool import Tool

SEARCHES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """The tokens that tools take in one request, by what they are spent on."""

    definitions: int = 0
    prompt: int = 0  # the list of names in compact mode
    results: int = 0  # calls of discovery tools and what they answered
    protocols: int = 0
    visible: int = 0  # how many definitions

    @property
    def tokens(self) -> int:
        """All of it."""
        return self.definitions + self.prompt + self.results + self.protocols


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search that was made, and the tools that became active by it."""

    query: str
    activated: tuple[str, ...]


def direct_overhead(tools: Sequence[Tool], wire: Wire = "openai-chat") -> Overhead:
    """Every definition at every step. Protocols are left out, as agents that load all their tools have none."""
    return Overhead(definitions=definitions_tokens(tools, wire), visible=len(tools))


def compact_overhead(tools: Sequence[Tool], wire: Wire = "openai-chat") -> Overhead:
    """Every name with one line, and `get_tool`."""
    surface = compact_surface(Toolbox(Catalog()))
    return Overhead(
        definitions=definitions_tokens(surface, wire), prompt=count_tokens(compact_list(tools)), visible=len(surface)
    )


async def discovery_overheads(
    catalog: Catalog,
    queries: Iterable[str],
    *,
    index: ToolIndex | None = None,
    surface: Surface = search_surface,
    wire: Wire = "openai-chat",
) -> tuple[list[Overhead], list[Search]]:
    """What discovery takes before any search and after each one; the first tool of the surface is asked."""
    toolbox = Toolbox(catalog, index, surface=surface)
    asked = toolbox.surface[0].name
    messages: list[dict[str, Any]] = []
    steps, searches = [_discovery_step(toolbox, messages, wire)], list[Search]()
    for query in queries:
        before = set(toolbox.active)
        result = await toolbox.call(asked, {"query": query})
        messages += exchange(asked, {"query": query}, result.text)
        steps.append(_discovery_step(toolbox, messages, wire))
        found = tuple(name for name in toolbox.active if name not in before)
        searches.append(Search(query=query, activated=found))
    return steps, searches


def own_queries(tools: Sequence[Tool], count: int = SEARCHES) -> list[str]:
    """Requests that the tools themselves answer: the first phrase, or sentence, of tools spread over the catalogue."""
    if not tools:
        return []
    spread = (tools[len(tools) * place // (count + 1)] for place in range(1, count + 1))
    chosen = {tool.name: tool for tool in spread}.values()
    return [next(iter(tool.phrases), "") or first_sentence(tool.description) or tool.name for tool in chosen]


def _discovery_step(toolbox: Toolbox, messages: Sequence[dict[str, Any]], wire: Wire) -> Overhead:
    visible = toolbox.visible()
    return Overhead(
        definitions=definitions_tokens(visible, wire),
        results=message_tokens(messages),
        protocols=count_tokens(protocols_block(visible)),
        visible=len(visible),
    )


def exchange(name: str, arguments: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """A call and its result as messages."""
    call = {"type": "function", "function": {"name": name, "arguments": compact_json(arguments)}}
    return [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": text}]
