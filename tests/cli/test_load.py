"""What `--from` accepts, and what it says when there is nothing to load."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib.cli.options import load_catalog
from toolcrib.errors import DuplicateToolError, LoadError

HELLO = """
from toolcrib import Catalog
catalog = Catalog()

@catalog.tool
def hello() -> str:
    '''Say hello.'''
    return "hello"
"""
LOOSE = """
from toolcrib import tool

@tool
def goodbye() -> str:
    '''Say goodbye.'''
    return "bye"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    ours = [name for name, module in sys.modules.items() if str(tmp_path) in str(getattr(module, "__file__", ""))]
    for name in ours:
        del sys.modules[name]


def names(place: str) -> list[str]:
    return [tool.name for tool in load_catalog(place)]


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("place", ["greet:catalog", "greet", "greet.py", "./greet.py", "greet.py:catalog", "."])
def test_a_catalog_is_found_by_module_file_and_folder(place: str) -> None:
    write("greet.py", HELLO)
    assert names(place) == ["hello"]


def test_a_module_in_a_package_is_found() -> None:
    write("office/__init__.py", "")
    write("office/greet.py", HELLO)
    assert names("office.greet:catalog") == ["hello"]


def test_a_file_of_a_package_may_use_its_package() -> None:
    write("office/__init__.py", "")
    write("office/greet.py", HELLO)
    write("office/part.py", "from office.greet import catalog")
    assert names("office/part.py") == ["hello"]
    assert names("office") == ["hello"]


def test_loose_tools_become_a_catalog() -> None:
    write("part.py", LOOSE)
    assert names("part.py") == ["goodbye"]


def test_a_folder_gives_the_tools_of_all_its_files() -> None:
    write("crib/a.py", HELLO)
    write("crib/b.py", LOOSE)
    write("crib/_private.py", "raise RuntimeError")
    write("crib/test_a.py", "raise RuntimeError")
    assert sorted(names("crib")) == ["goodbye", "hello"]


def test_files_that_share_a_catalog_give_each_tool_once() -> None:
    write("crib/a_uses_z.py", "from z_catalog import catalog")
    write("crib/z_catalog.py", HELLO)
    assert names("crib") == ["hello"]


def test_two_catalogs_become_one() -> None:
    write(
        "two.py", HELLO + "\nother = Catalog()\n\n@other.tool\ndef hi() -> str:\n    '''Say hi.'''\n    return 'hi'\n"
    )
    assert names("two.py") == ["hello", "hi"]
    assert names("two.py:other") == ["hi"]


def test_one_name_in_two_files_is_an_error() -> None:
    write("crib/a.py", HELLO)
    write("crib/b.py", HELLO)
    with pytest.raises(DuplicateToolError):
        load_catalog("crib")


def test_metadata_beside_the_files_of_a_folder_is_loaded() -> None:
    write("crib/part.py", LOOSE)
    write("crib/tools.yaml", "goodbye: {category: greetings}\n")
    assert load_catalog("crib").get("goodbye").category == "greetings"


def test_a_file_named_like_a_module_of_python_is_loaded_all_the_same() -> None:
    write("json.py", HELLO)
    assert names("json.py") == ["hello"]


def test_a_file_of_json_definitions_is_a_catalog() -> None:
    write("tools.json", '[{"name": "hello", "description": "Say hello."}]')
    assert names("tools.json") == ["hello"]


def test_an_empty_catalog_is_a_catalog() -> None:
    write("empty.py", "from toolcrib import Catalog\ncatalog = Catalog()")
    assert names("empty.py") == []


def test_the_import_path_is_left_as_it_was() -> None:
    write("greet.py", HELLO)
    before = list(sys.path)
    load_catalog("greet.py")
    assert sys.path == before


FORMS = "Write `--from package.module:catalog`, `--from tools.py`, `--from folder` or `--from tools.json`."
ALONE = "Try it alone with `python`, in the environment that has its dependencies."


def test_a_catalog_may_be_made_when_it_is_asked_for() -> None:
    write("lazy.py", f"def __getattr__(name):\n    made = {{}}\n    exec({HELLO!r}, made)\n    return made[name]\n")
    assert [tool.name for tool in load_catalog("lazy")] == ["hello"]


def test_without_a_place_the_reference_cms_is_loaded() -> None:
    assert len(load_catalog(None)) == 45


@pytest.mark.parametrize(
    ("place", "message", "hint"),
    [
        ("", "No tools were given.", FORMS),
        ("gret.py", "There is no file 'gret.py'.", "Did you mean 'greet.py'?"),
        ("far/away.py", "There is no file 'far/away.py'.", FORMS),
        ("notes.txt", "'notes.txt' is not a Python file.", FORMS),
        ("gret", "There is no module 'gret'.", "Did you mean 'greet'?"),
        ("gret:catalog", "There is no module 'gret'.", "Did you mean 'greet'?"),
        ("xyzzy.tools", "There is no module 'xyzzy.tools'.", FORMS),
        ("greet:catalogs", "'catalogs' in 'greet' is not there.", "Did you mean 'catalog'?"),
        ("greet:hello", "'hello' in 'greet' is a function, not a Catalog.", "It holds: catalog."),
        ("bare:x", "'x' in 'bare' is not there.", "It holds no catalog."),
        ("bare", "'bare' holds no Catalog and no @tool.", "Make one with `catalog = Catalog()`."),
        ("empty", "There are no Python files in 'empty'.", FORMS),
    ],
)
def test_a_place_without_a_catalog_is_named_with_what_to_do(place: str | None, message: str, hint: str) -> None:
    write("greet.py", HELLO)
    write("bare.py", "")
    write("notes.txt", "")
    Path("empty").mkdir()
    with pytest.raises(LoadError) as caught:
        load_catalog(place)
    assert (str(caught.value), caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("x = 1\nraise ValueError('no')", "broken.py:2: ValueError: no"),
        ("import sys\nsys.exit(3)", "broken.py:2: SystemExit: 3"),
        ("import json\njson.loads('{')", "broken.py:2: JSONDecodeError"),
        ("import a_module_that_is_not_there", "ModuleNotFoundError: No module named 'a_module_that_is_not_there'"),
        ("def (:", "SyntaxError"),
    ],
)
def test_a_module_that_fails_says_where(code: str, complaint: str) -> None:
    write("broken.py", code)
    for place in ("broken.py", "broken:catalog"):
        with pytest.raises(LoadError, match="could not be imported") as caught:
            load_catalog(place)
        assert complaint in str(caught.value)
        assert caught.value.hint == ALONE


def test_an_error_of_ours_in_a_module_stays_what_it_is() -> None:
    write("twice.py", HELLO + "catalog.add(catalog.get('hello'))")
    with pytest.raises(DuplicateToolError):
        load_catalog("twice.py")


def test_the_catalog_itself_is_given_so_that_a_tool_added_later_is_there() -> None:
    write("later.py", HELLO)
    catalog = load_catalog("later.py")
    assert catalog is sys.modules["later"].catalog
