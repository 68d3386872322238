"""The public names: few on purpose, and free until used."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import toolcrib

PUBLIC = {
    "Catalog",
    "Crib",
    "CribToolset",
    "Entity",
    "Extraction",
    "Hit",
    "Mode",
    "Policy",
    "Protocol",
    "Risk",
    "SearchResult",
    "Session",
    "Tool",
    "ToolIndex",
    "ToolResult",
    "Toolbox",
    "ToolcribError",
    "choose_mode",
    "load_app",
    "run",
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


def test_type_checkers_see_the_same_names() -> None:
    source = ast.parse(Path(toolcrib.__file__).read_text(encoding="utf-8"))
    guarded = next(node for node in source.body if isinstance(node, ast.If))
    imported = {
        alias.asname: node.module for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imported == vars(toolcrib)["_HOMES"]


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
