"""Every row of the five documents is on the page about them and has a test, and what the page names is there.

The page `docs/seeds.md` is the list of rows; the counts here say how many each document has.
"""

import ast
import re
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.seeds.test_discovery_mode import FIVE
from tests.support import ROOT
from toolcrib import Catalog, Tool, Toolbox, domain_surface, search_surface
from toolcrib.cli.main import main
from toolcrib.sources import module
from toolcrib_cms import definitions

PAGE = ROOT / "docs" / "seeds.md"
ROWS_OF_A_DOCUMENT = (38, 40, 23, 27, 19)
IN_A_NAME = re.compile(r"test_rows?_(\d_\d+(?:_and_\d_\d+)*)_")
ROOMS = ("agent", "apps", "catalog", "discovery", "memory", "policy", "search", "sources", "stores", "tools")
PLACES = ("toolcrib", *(f"toolcrib.{room}" for room in ROOMS), "toolcrib.credentials", "toolcrib.embedders")


def lines() -> list[tuple[list[str], str]]:
    """The lines of the page's tables: the rows they are about, and what they say is here."""
    found = re.findall(r"^\| (\d\.\d+(?:, \d\.\d+)*) \|.*\| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    return [(rows.split(", "), here) for rows, here in found]


def row_tests() -> list[tuple[set[str], ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The tests of this folder that name rows."""
    files = [ast.parse(file.read_text("utf-8")) for file in Path(__file__).parent.glob("test_*.py")]
    return [
        ({row.replace("_", ".") for row in found[1].split("_and_")}, node)
        for file in files
        for node in file.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (found := IN_A_NAME.match(node.name))
    ]


def test_every_row_is_on_the_page_once() -> None:
    told = Counter(row for rows, _ in lines() for row in rows)
    assert told == Counter(f"{at}.{n}" for at, last in enumerate(ROWS_OF_A_DOCUMENT) for n in range(1, last + 1))
    assert told.total() == 147


def test_every_row_has_a_test() -> None:
    assert {row for rows, _ in lines() for row in rows} == {row for rows, _ in row_tests() for row in rows}


def test_no_row_is_expected_to_fail_and_none_is_skipped() -> None:
    for _, test in row_tests():
        marks = [ast.unparse(one) for one in test.decorator_list]
        assert not any("skip" in mark or "xfail" in mark for mark in marks), test.name
        assert any(isinstance(node, ast.Assert | ast.With | ast.AsyncWith) for node in ast.walk(test)), test.name


@cache
def tool_names() -> frozenset[str]:
    """Of the reference CMS, the modules and the surfaces, with the arguments of those that find tools."""
    here = Path(__file__).parent
    modules = [tool for name in ("filesystem", "core") for tool in module(name, workdir=here)]
    surface = search_surface(Toolbox(Catalog()))
    finders = [*surface, *domain_surface({"file": Catalog(), "agents": Catalog()})]
    tools: list[Tool] = [*definitions, *modules, *finders]
    arguments = {name for tool in surface for name in tool.parameters["properties"]}
    return frozenset({tool.name for tool in tools} | arguments | {*FIVE})


@cache
def referenced() -> frozenset[str]:
    """What the reference has, whose pages are made from the code."""
    pages = [*(ROOT / "docs" / "reference").glob("*.md"), ROOT / "docs" / "guides" / "cms.md"]
    return frozenset(span for page in pages for span in re.findall(r"`([^`\n]+)`", page.read_text("utf-8")))


def is_public(name: str) -> bool:
    """Whether a name, or an attribute of it, can be imported from the front door or a room."""
    first, *rest = name.split(".")
    for place in PLACES:
        held: Any = import_module(place)
        if first in dir(held):
            held = getattr(held, first)
            fields: set[str] = {*dir(held), *getattr(held, "__annotations__", ())}
            return all(attribute in fields for attribute in rest)
    return False


@pytest.mark.parametrize("name", sorted({name for _, here in lines() for name in re.findall(r"`([^`]+)`", here)}))
def test_what_the_page_names_is_there(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name.startswith("toolcrib "):
        words = name.split()[1:]
        verb = [word for word in words[:2] if word.isalpha()]
        assert main([*verb, "--help"]) == 0
        shown = capsys.readouterr().out
        assert [word for word in words if word.startswith("--") and word not in shown] == []
    elif "/" in name and not name.startswith(("GET ", "/")):
        assert (ROOT / name).exists()
    elif not name.startswith(("/blog", "/site", "/uploads")):  # rows 1.40 and 2.19 visit these
        assert is_public(name.partition("(")[0]) or name in tool_names() or name in referenced()
