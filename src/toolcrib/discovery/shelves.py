"""The tools that a caller may know of, by category or domain; read once per revision and shared by all sessions."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import TypeAlias
from weakref import WeakKeyDictionary

from toolcrib.catalog import Catalog
from toolcrib.discovery.render import label
from toolcrib.discovery.toolbox import Toolbox
from toolcrib.policy import Policy
from toolcrib.tools.tool import Tool

OTHER = "other"  # where tools without a category stand
Shelves: TypeAlias = Mapping[str, tuple[Tool, ...]]
ShelfOf: TypeAlias = Callable[[Tool], str]

_MOST_READINGS = 64  # per catalogue: policies, roles and ways to sort, of which an application has a handful


def category_of(tool: Tool) -> str:
    """The category of a tool, as it is shown and asked for."""
    return label(tool.category) or OTHER


def shelves_of(toolbox: Toolbox, shelf_of: ShelfOf = category_of) -> Shelves:
    """The tools of each shelf, shelves by name; what the caller may not know of stands on none."""
    tools = toolbox.tools  # one tuple for all sessions of a policy and role, until the catalogue changes
    key = (toolbox.policy, toolbox.role, shelf_of)
    with _sharing:
        readings = _readings.setdefault(toolbox.catalog, {})
        read, shelves = readings.get(key, ((), {}))
        if read is tools:
            return shelves
    sorted_in = _sorted_in(tools, shelf_of)
    with _sharing:
        if len(readings) >= _MOST_READINGS:
            readings.clear()
        readings[key] = (tools, sorted_in)
    return sorted_in


def _sorted_in(tools: tuple[Tool, ...], shelf_of: ShelfOf) -> Shelves:
    shelves: dict[str, list[Tool]] = {}
    for tool in tools:
        shelves.setdefault(shelf_of(tool), []).append(tool)
    by_name = sorted(shelves.items(), key=lambda shelf: (shelf[0].casefold(), shelf[0]))
    return {name: tuple(held) for name, held in by_name}


_Reading: TypeAlias = tuple[tuple[Tool, ...], Shelves]
_readings: WeakKeyDictionary[Catalog, dict[tuple[Policy, str | None, ShelfOf], _Reading]] = WeakKeyDictionary()
_sharing = Lock()
