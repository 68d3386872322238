"""Rooms and the doors between them: the table of who may use whom, held against every import.

Whoever opens a door between two rooms edits `MAY_USE` in the same commit.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"

MAY_USE: dict[str, set[str]] = {
    "errors": set(),
    "settings": set(),
    "tools": set(),
    "postgres": set(),
    "sources": {"tools"},
    "catalog": {"tools", "sources.source", "postgres"},
    "policy": {"tools", "sources.source"},
    "search": {"tools", "postgres"},
    "discovery": {"catalog", "policy", "search", "sources.source", "tools"},
    "memory": {"tools"},
    "stores": {"memory", "tools", "postgres"},
    "agent": {"discovery", "memory", "stores", "search", "policy", "catalog", "tools"},
    "apps": {"agent", "stores", "memory", "discovery", "search", "policy", "catalog", "sources", "tools"},
    # These of `server` are without a web framework: both doors listen, let in and refuse alike.
    "gateway": {
        "discovery",
        "search",
        "policy",
        "catalog",
        "sources",
        "stores",
        "tools",
        "postgres",
        "server.options",
        "server.rates",
        "server.taken_socket",
    },
    "server": {"apps", "agent", "stores", "memory", "discovery", "search", "policy", "catalog", "tools", "postgres"},
}
# Errors are open to all; settings to all but the values in `tools`.
for room, doors in MAY_USE.items():
    doors |= {"errors"} if room in ("tools", "errors") else {"errors", "settings"}

EVERYTHING = set(MAY_USE)
MAY_USE["cli"] = EVERYTHING  # nobody uses it: it stands in no set
MAY_USE["__init__"] = EVERYTHING  # the front door; rooms use each other's modules, not the front door

# Files beside `catalog.py` that are part of its room.
CATALOG_FILES = ("catalog_", "metadata")


def room_of(module: str) -> str:
    """The room of a module named below `toolcrib`, such as `search.text`."""
    first = module.partition(".")[0]
    return "catalog" if first.startswith(CATALOG_FILES) else first


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and name below `toolcrib` of every import of ours, wherever it stands; `""` is the package itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # `from toolcrib import search` opens a room; `from toolcrib import Tool` goes by the front door.
            front = [f"toolcrib.{alias.name}" if room_of(alias.name) in MAY_USE else "toolcrib" for alias in node.names]
            names = front if node.module == "toolcrib" else [node.module or ""]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "toolcrib":
                yield node.lineno, rest


def violations(module: str, source: str) -> list[str]:
    """Every import in `source` that the room of `module` may not make."""
    room = room_of(module)
    if room not in MAY_USE:
        return [f"{module}: stands in no room; add it to `MAY_USE`"]
    found: list[str] = []
    for line, target in imports(source):
        other = room_of(target) if target else "__init__"
        own = other == room
        open_door = any(target == door or target.startswith(f"{door}.") or other == door for door in MAY_USE[room])
        if not (own or open_door):
            found.append(f"{module}:{line}: {room} may not use {target or 'the front door'}")
    return found


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted((SRC / "toolcrib").rglob("*.py")):
        parts = path.relative_to(SRC / "toolcrib").with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts), path


def test_every_import_goes_through_an_open_door() -> None:
    found = [line for module, path in modules() for line in violations(module, path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("tools.tool", "from toolcrib.catalog import Catalog", "tools.tool:1: tools may not use catalog"),
        ("tools.tool", "import toolcrib.settings", "tools.tool:1: tools may not use settings"),
        ("search.index", "def f():\n    import toolcrib.catalog", "search.index:2: search may not use catalog"),
        ("search.index", "from toolcrib import catalog", "search.index:1: search may not use catalog"),
        ("search.index", "from toolcrib import Catalog", "search.index:1: search may not use the front door"),
        ("catalog", "from toolcrib.sources.mcp import X", "catalog:1: catalog may not use sources.mcp"),
        ("server.app", "from toolcrib.cli.main import app", "server.app:1: server may not use cli.main"),
        ("utils", "", "utils: stands in no room; add it to `MAY_USE`"),
        (
            "memory.working",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from toolcrib.agent.runner import run",
            "memory.working:3: memory may not use agent.runner",
        ),
    ],
)
def test_a_closed_door_is_reported(module: str, source: str, complaint: str) -> None:
    assert violations(module, source) == [complaint]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tools.tool", "from toolcrib.errors import ToolcribError"),
        ("search.index", "from toolcrib.settings import Settings"),
        ("catalog", "from toolcrib.sources.source import Source"),
        ("catalog_check", "from toolcrib.catalog import Catalog"),
        ("cli.main", "from toolcrib.search.index import ToolIndex\nfrom toolcrib.cli.load import load"),
        ("search.lexical", "import numpy\nfrom toolcribber import x"),
    ],
)
def test_an_open_door_is_not(module: str, source: str) -> None:
    assert violations(module, source) == []
