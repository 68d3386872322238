"""The public names: few on purpose, and free until used."""

import ast
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import toolcrib

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "toolcrib"
PUBLIC = {
    "Catalog",
    "Crib",
    "CribToolset",
    "Decision",
    "Embedder",
    "Entity",
    "Extraction",
    "Hit",
    "Limits",
    "Mode",
    "Policy",
    "Protocol",
    "Risk",
    "Rule",
    "SearchResult",
    "Session",
    "Tool",
    "ToolContext",
    "ToolIndex",
    "ToolResult",
    "Toolbox",
    "ToolcribError",
    "browse_surface",
    "choose_mode",
    "code_surface",
    "confirm",
    "domain_surface",
    "load_app",
    "open_store",
    "run",
    "search_surface",
    "stream",
    "tool",
}
HEAVY = {
    "pydantic",
    "numpy",
    "simsimd",
    "pydantic_ai",
    "fastmcp",
    "fastapi",
    "tantivy",
    "rich",
    "cyclopts",
    "httpx2",
    "ruamel",
}
IMPORT_LIMIT_CPU_SECONDS = 0.2
PROBE = """
import json, sys, time
before = time.process_time()
import toolcrib
print(json.dumps([time.process_time() - before, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def test_the_public_names_are_the_agreed_ones() -> None:
    assert set(toolcrib.__all__) == PUBLIC
    assert set(toolcrib.__all__) <= set(dir(toolcrib))


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_loads(name: str) -> None:
    assert getattr(toolcrib, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Toolbocks'"):
        _ = toolcrib.Toolbocks


LISTS = [path for path in SRC.rglob("*.py") if "_HOMES = {" in path.read_text("utf-8")]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: str(path.relative_to(SRC)))
def test_type_checkers_see_the_names_that_load(path: Path) -> None:
    room = path.relative_to(SRC.parent).with_suffix("")
    package = import_module(".".join(part for part in room.parts if part != "__init__"))
    source = ast.parse(path.read_text(encoding="utf-8"))
    guarded = next(node for node in source.body if isinstance(node, ast.If))
    imported = {
        alias.asname: node.module for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imported == vars(package)["_HOMES"]
    assert imported.keys() <= set(dir(package))
    assert all(getattr(package, name) is not None for name in imported if name)


def test_every_room_lists_its_names() -> None:
    rooms = {path.parent.name for path in SRC.glob("*/__init__.py")} - {"cli"}
    assert {path.parent.name for path in LISTS if path.name == "__init__.py"} == rooms | {"toolcrib"}


@pytest.mark.parametrize("folder", ["docs_src", "examples", "src/toolcrib_cms"])
def test_what_users_read_imports_from_the_front_and_the_rooms_alone(folder: str) -> None:
    deeper = [
        f"{path.relative_to(ROOT)}: {node.module}"
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolcrib.")
        if (node.module or "").count(".") > 1
    ]
    assert deeper == []


FOR_USERS = {
    "toolcrib.server.access",
    "toolcrib.sources.modules.core",
    "toolcrib.discovery.query",
}  # loggers, attributes
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_name_no_module_below_a_room(page: Path) -> None:
    named = re.findall(r"\btoolcrib(?:\.[a-z]\w*){2,}", page.read_text(encoding="utf-8"))
    rooms = ("toolcrib.testing.", "toolcrib.embedders.")  # functions of rooms that are one file
    assert [name for name in named if name not in FOR_USERS and not name.startswith(rooms)] == []


@pytest.mark.process
def test_importing_toolcrib_is_light() -> None:
    # CPU time, the best of a few fresh processes: what the import costs, not what else the machine did meanwhile.
    runs = [_import_in_a_fresh_process() for _ in range(3)]
    seconds, modules = min(runs)
    assert not HEAVY & set(modules)
    assert seconds < IMPORT_LIMIT_CPU_SECONDS


def _import_in_a_fresh_process() -> tuple[float, list[str]]:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=60)
    seconds, modules = json.loads(done.stdout)
    return seconds, modules
