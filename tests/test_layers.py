"""Rooms and the doors between them: the tables of who may use whom, held against every import.

`AT_LOAD` is what a room may import when it is loaded, `LATE` what it may import in a function: that is how `stores`,
`catalog` and `search` open PostgreSQL, which itself implements their seams. Whoever opens a door edits the tables in
the same commit, and whoever closes the last use of one deletes it: a door nobody uses fails, too.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SRC = Path(__file__).parents[1] / "src" / "toolcrib"

AT_LOAD: dict[str, set[str]] = {
    "tools": set(),
    "memory": {"tools"},
    "sources": {"credentials", "tools"},
    "search": {"tools"},
    "catalog": {"tools", "yaml_file"},
    "policy": {"tools", "yaml_file"},
    "discovery": {"catalog", "policy", "search", "sources.source", "tools"},
    "stores": {"memory", "tools"},
    "postgres": {"catalog", "policy", "search", "sources.source", "stores", "tools"},
    "agent": {
        "catalog", "credentials", "discovery", "memory", "policy", "search", "sources.toolset", "stores", "tools",
    },
    "evals": {"agent", "catalog", "discovery", "search", "stores", "tools"},
    "integrations": {"catalog", "discovery", "search", "tools"},
    "apps": {
        "agent", "catalog", "credentials", "discovery", "policy", "search", "sources", "stores", "tools", "yaml_file",
    },
    "gateway": {
        "_connections", "catalog", "credentials", "discovery", "policy", "search", "serving", "sources", "stores",
        "tools", "yaml_file",
    },
    "server": {
        "_connections", "agent", "catalog", "credentials", "discovery", "evals", "memory", "policy", "search",
        "serving", "stores", "tools",
    },
}  # fmt: skip
LATE: dict[str, set[str]] = {
    "catalog": {"postgres", "sources.toolset"},
    "search": {"postgres"},
    "sources": {"yaml_file"},
    "stores": {"postgres"},
}
# Files at the root: a front for a room, or a value that several rooms need.
ROOT_FILES = {
    "_connections",
    "_lazy",
    "credentials",
    "embedders",
    "errors",
    "serving",
    "settings",
    "testing",
    "yaml_file",
}
OPEN_TO_ALL = {"_lazy", "errors", "settings"}


class Import(NamedTuple):
    """One import of ours: where it stands, what it names, and whether it waits inside a function."""

    module: str
    line: int
    target: str
    late: bool

    @property
    def room(self) -> str:
        return self.module.partition(".")[0]

    @property
    def other(self) -> str:
        return self.target.partition(".")[0]

    def door(self) -> str | None:
        """The entry of the tables that allows it; None if there is none."""
        closed = set[str]()
        doors = AT_LOAD.get(self.room, closed) | (LATE.get(self.room, closed) if self.late else closed)
        return next((door for door in sorted(doors) if f"{self.target}.".startswith(f"{door}.")), None)


def imports(module: str, source: str) -> Iterator[Import]:
    """Every import of ours, by its name below `toolcrib`; `""` is the front door."""
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(source), False)]
    while waiting:
        node, late = waiting.pop(0)
        late = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting += [(child, late) for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "toolcrib":
            known = AT_LOAD.keys() | ROOT_FILES
            names = [f"toolcrib.{alias.name}" if alias.name in known else "toolcrib" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "toolcrib":
                yield Import(module, node.lineno, rest, late)


def all_imports() -> Iterator[Import]:
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        yield from imports(".".join(part for part in parts if part != "__init__"), path.read_text(encoding="utf-8"))


def complaints(found: Iterator[Import]) -> list[str]:
    """Every import that its room may not make. The command line and the front of the package may use everything."""
    lines: list[str] = []
    for one in found:
        if one.room in ("", "cli") or one.other == one.room or one.other in OPEN_TO_ALL:
            if not (one.room == "tools" and one.other == "settings"):
                continue
        elif one.room in ROOT_FILES - {"testing", "embedders"} and one.other not in OPEN_TO_ALL:
            pass
        elif one.room in ("testing", "embedders") or one.door():
            continue
        lines.append(f"{one.module}:{one.line}: {one.room} may not use {one.target or 'the front door'}")
    return lines


def test_every_import_goes_through_an_open_door() -> None:
    assert complaints(all_imports()) == []


def test_every_file_stands_in_a_room_that_the_tables_know() -> None:
    here = {path.stem for path in SRC.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert here - {"__init__", "cli"} == AT_LOAD.keys() | ROOT_FILES


def test_every_door_is_in_use() -> None:
    used = {(one.room, one.door()) for one in all_imports() if one.other != one.room}
    tables = {(room, door) for table in (AT_LOAD, LATE) for room, doors in table.items() for door in doors}
    assert tables - used == set()


def test_verbs_do_not_import_verbs() -> None:
    # The last two are subcommands of `gateway`.
    shared = {"cli.main", "cli.output", "cli.options", "cli.approvals", "cli.gateway_status"}
    crossing = [
        one
        for one in all_imports()
        if one.room == "cli" and one.other == "cli" and one.target not in shared and one.module != one.target
        and not one.target.startswith("cli.terminal")
    ]  # fmt: skip
    assert crossing == []


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        (
            "tools.tool",
            "from toolcrib.catalog.catalog import Catalog",
            "tools.tool:1: tools may not use catalog.catalog",
        ),
        ("tools.tool", "import toolcrib.settings", "tools.tool:1: tools may not use settings"),
        ("search.index", "def f():\n    import toolcrib.catalog", "search.index:2: search may not use catalog"),
        ("search.index", "from toolcrib import catalog", "search.index:1: search may not use catalog"),
        ("search.index", "from toolcrib import Catalog", "search.index:1: search may not use the front door"),
        ("stores.store", "import toolcrib.postgres.sessions", "stores.store:1: stores may not use postgres.sessions"),
        ("discovery.render", "import toolcrib.sources.web", "discovery.render:1: discovery may not use sources.web"),
        ("server.app", "from toolcrib.cli.main import app", "server.app:1: server may not use cli.main"),
        ("utils", "import toolcrib.tools.tool", "utils:1: utils may not use tools.tool"),
        (
            "memory.working",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from toolcrib.agent.runner import run",
            "memory.working:3: memory may not use agent.runner",
        ),
    ],
)
def test_a_closed_door_is_reported(module: str, source: str, complaint: str) -> None:
    assert complaints(imports(module, source)) == [complaint]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("tools.tool", "from toolcrib.errors import ToolcribError"),
        ("search.index", "from toolcrib.settings import Settings"),
        ("discovery.toolbox", "from toolcrib.sources.source import SourceState"),
        ("stores.store", "def f():\n    from toolcrib.postgres.sessions import PostgresStore"),
        ("catalog.check", "from toolcrib.catalog.catalog import Catalog"),
        ("cli.search", "from toolcrib.search.index import ToolIndex"),
        ("search.lexical", "import numpy\nfrom toolcribber import x"),
    ],
)
def test_an_open_door_is_not(module: str, source: str) -> None:
    assert complaints(imports(module, source)) == []
